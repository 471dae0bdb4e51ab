// The network behind a proxy server for egress: every connection is a tunnel through it. Names are resolved by the
// proxy server, except where this server needs addresses itself.

import type {Duplex} from 'node:stream';
import type {Clock} from '#src/base/clock.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import {traced} from '#src/base/span.js';
import {dialer, type Target} from '#src/transport/dial.js';
import {requestTunnel, TunnelRefused} from '#src/transport/http-connect.js';
import {endpoint, type Network} from '#src/transport/network.js';
import {dialThroughGrpc, ProxyUnreached} from './grpc-tunnel.js';

/** How a proxy server is reached. */
export type EgressProxy =
  | {readonly protocol: 'http_connect'; readonly transport: 'tcp'; readonly target: Target}
  | {readonly protocol: 'http_connect' | 'grpc'; readonly transport: 'uds'; readonly socket: string};

export interface EgressParts {
  /** The network in which the proxy server is. */
  readonly network: Network;
  readonly clock: Clock;
  readonly random: Random;
  readonly meter: Meter;
}

const labels = ['protocol', 'transport'];

const metricsOf = (meter: Meter) => ({
  starts: meter.counter({
    name: 'apiserver_egress_dialer_dial_start_total',
    help: 'Dial starts, labeled by the protocol (http-connect or grpc) and transport (tcp or uds).',
    labels,
  }),
  duration: meter.histogram({
    name: 'apiserver_egress_dialer_dial_duration_seconds',
    help: 'Dial latency histogram in seconds, labeled by the protocol (http-connect or grpc), transport (tcp or uds)',
    labels,
    buckets: [0.005, 0.025, 0.1, 0.5, 2.5, 12.5],
  }),
  failures: meter.counter({
    name: 'apiserver_egress_dialer_dial_failure_count',
    help: 'Dial failure count, labeled by the protocol (http-connect or grpc), transport (tcp or uds), and stage (connect or proxy). The stage indicates at which stage the dial failed',
    labels: [...labels, 'stage'],
  }),
});

/** Returns the network behind a proxy server. */
export const tunnelNetwork = (proxy: EgressProxy, parts: EgressParts): Network => {
  const {network, clock, meter} = parts;
  const metrics = metricsOf(meter);
  const {protocol, transport} = proxy;
  return {
    resolve: host => network.resolve(host),
    ...(network.within ? {within: (host, port) => network.within!(host, port)} : {}),
    async dial(host, port) {
      // Sockets of this machine are not behind the proxy.
      if (host.startsWith('/')) return network.dial(host, port);
      const begin = clock.monotonic();
      metrics.starts.add({protocol, transport});
      try {
        const address = endpoint(host, port);
        const dial = () => tunnel(proxy, address, parts);
        const connection = await traced(`Proxy via ${protocol} protocol over ${transport}`, () => ({address}), dial);
        metrics.duration.observe((clock.monotonic() - begin) / 1000, {protocol, transport});
        return connection;
      } catch (error) {
        metrics.failures.add({protocol, transport, stage: error instanceof ProxyUnreached ? 'connect' : 'proxy'});
        throw error;
      }
    },
  };
};

const tunnel = async (proxy: EgressProxy, address: string, {network, clock, random}: EgressParts): Promise<Duplex> => {
  if (proxy.protocol === 'grpc') return dialThroughGrpc(address, {socket: proxy.socket, clock, random});
  const target: Target = proxy.transport === 'tcp' ? proxy.target : {scheme: 'http', host: proxy.socket, port: ''};
  const connection = await dialer(
    network,
    clock,
  )(target).catch((cause: Error) => {
    throw new ProxyUnreached(cause.message, {cause});
  });
  return httpTunnel(connection, placeOf(proxy), address, clock);
};

/** The proxy server as errors name it. */
const placeOf = (proxy: EgressProxy): string => (proxy.transport === 'tcp' ? endpoint(proxy.target.host, proxy.target.port) : proxy.socket);

/** How long a proxy server may take to establish a tunnel. */
const tunnelTimeoutMs = 30_000;

const httpTunnel = async (connection: Duplex, place: string, address: string, clock: Clock): Promise<Duplex> => {
  using _ = clock.hold();
  using _timer = clock.schedule(tunnelTimeoutMs, () => connection.destroy(new Error('i/o timeout')));
  try {
    return await requestTunnel(connection, address, {host: '127.0.0.1'});
  } catch (cause) {
    connection.destroy();
    throw cause instanceof TunnelRefused
      ? new Error(`proxy error from ${place} while dialing ${address}, code ${cause.status}: ${cause.status} ${cause.reason}`, {cause})
      : new Error(`reading HTTP response from CONNECT to ${address} via proxy ${place} failed: ${(cause as Error).message}`, {cause});
  }
};
