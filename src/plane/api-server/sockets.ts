// The HTTPS port of an API server, which is open before its store is, its metrics of connections, and its graceful
// shutdown in the steps that `stop` lists.

import type {TlsOptions} from 'node:tls';
import type {ApiHandler} from '#src/api/request.js';
import type {Naming} from '#src/api/naming.js';
import {sleep, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import type {Meter} from '#src/base/meter.js';
import {OptionError} from '#src/options/option-error.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import {regexp} from '#src/schema/regexp.js';
import type {OriginPattern} from '#src/serving/cors.js';
import {Deliveries} from '#src/serving/deliveries.js';
import {createHttpServer} from '#src/serving/http-server.js';
import {joinedListeners} from '#src/serving/joined-listeners.js';
import {listen, type Listener, type ListenerOptions} from '#src/serving/listener.js';
import {openAdministration} from '#src/serving/administration/handler.js';
import {listenOnSocket} from '#src/serving/socket-listener.js';
import type {ApiServer} from '#src/apiserver/server.js';
import type {RunningApiServer} from './api-server.js';
import {profiling} from './observation.js';
import type {PodAccess} from './pod-access.js';
import {waitingServer} from './waiting-server.js';

export interface SocketParts {
  readonly options: ApiserverOptions;
  readonly naming: Naming;
  readonly tls: TlsOptions;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  gate(name: string): boolean;
  /** Another address to listen at, for pods of this machine. */
  readonly podAccess?: PodAccess | undefined;
}

const observeConnections = (meter: Meter, deliveries: Deliveries, listener: Listener): void => {
  meter.observed(
    {name: 'apiserver_response_waiting_bytes', help: 'Bytes that wait for readers in all responses and watches.', labels: []},
    () => [[{}, deliveries.waitingBytes]],
  );
  meter.observed(
    {
      name: 'apiserver_responses_cut_off_total',
      type: 'counter',
      help: 'Number of responses cut off because their readers were too slow, by what ran out.',
      labels: ['reason'],
    },
    () => [
      [{reason: 'bytes'}, deliveries.cutOff.bytes],
      [{reason: 'time'}, deliveries.cutOff.time],
    ],
  );
  meter.observed(
    {
      name: 'apiserver_tls_handshake_errors_total',
      type: 'counter',
      help: "Number of requests dropped with 'TLS handshake error from' error",
      labels: [],
    },
    () => [[{}, listener.handshakeErrors]],
  );
  meter.observed({name: 'apiserver_connections', help: 'Number of open connections.', labels: []}, () => [[{}, listener.connections]]);
  meter.observed(
    {
      name: 'apiserver_connections_refused_total',
      type: 'counter',
      help: 'Number of connections refused because there were too many.',
      labels: [],
    },
    () => [[{}, listener.refused]],
  );
};

/** The HTTPS port of an API server. */
export interface Sockets {
  readonly listener: Listener;
  /**
   * Records why the server still waits for its store: requests are refused with 503, and health checks name the reason.
   */
  readonly reportWaiting: (reason: string) => void;
  /** Passes all further requests to the server. */
  readonly serve: (handler: ApiHandler) => void;
  /**
   * Stops as the options specify: readiness fails at once, the server continues for the shutdown delay, then accepts
   * nothing new (or refuses it with 429 until requests in flight have ended), ends watches within their grace period,
   * and closes.
   */
  stop(running: RunningApiServer): Promise<void>;
}

/** Compiles a pattern of allowed origins, as the original with RE2. */
const originPattern = (pattern: string): OriginPattern => {
  try {
    return regexp(pattern);
  } catch (error) {
    throw new OptionError(`invalid value for --cors-allowed-origins: ${(error as Error).message}`, {cause: error});
  }
};

/** Opens the port of a listener at the address for pods, too. When it cannot, the listener is closed. */
const listenBeside = async (
  own: Listener,
  {host, accepts}: PodAccess,
  options: Omit<ListenerOptions, 'bindAddress' | 'port' | 'accepts'>,
): Promise<Listener> => {
  try {
    return await listen({...options, bindAddress: host, port: own.port, accepts});
  } catch (error) {
    await own.close();
    throw error;
  }
};

/** Opens the port. */
export const openSockets = async ({options, naming, gate, tls, clock, random, log, meter, podAccess}: SocketParts): Promise<Sockets> => {
  const deliveries = new Deliveries(clock, options.maxWaitingResponseBytes);
  const waiting = waitingServer({options, naming, clock, log, gate});
  const httpServer = createHttpServer(waiting.handler, {
    clock,
    deliveries,
    random,
    goawayChance: options.goawayChance,
    hsts: options.strictTransportSecurityDirectives,
    corsOrigins: options.corsAllowedOrigins.map(originPattern),
    onFault: fault => log.error({err: fault}, 'answering a request failed'),
  });
  const listenerOptions = {
    clock,
    tls,
    handler: httpServer,
    disableHttp2: options.disableHttp2Serving,
    maxStreamsPerConnection: options.http2MaxStreamsPerConnection,
    permitAddressSharing: options.permitAddressSharing,
    permitPortSharing: options.permitPortSharing,
    maxConnections: options.maxConnections,
  };
  const own = await listen({...listenerOptions, bindAddress: options.bindAddress, port: options.securePort});
  const listener = podAccess ? joinedListeners(own, await listenBeside(own, podAccess, listenerOptions)) : own;
  observeConnections(meter, deliveries, listener);
  const socket = options.debugSocketPath
    ? await listenOnSocket(
        options.debugSocketPath,
        createHttpServer(
          openAdministration(profiling(options, clock), error => log.error({err: error}, 'profiling failed')),
          {clock, random},
        ),
      )
    : undefined;
  const stop = async (running: RunningApiServer) => {
    await socket?.[Symbol.asyncDispose]();
    const {server, health} = running;
    health.shutDown();
    if (options.shutdownDelayDuration > 0) await sleep(clock, options.shutdownDelayDuration);
    if (options.shutdownSendRetryAfter) {
      server.draining.rejects = true;
      listener.drain();
      await drained(server, clock, options.requestTimeout);
    }
    const graceMs = options.shutdownWatchTerminationGracePeriod;
    const closed = listener.close({graceMs: graceMs + options.requestTimeout});
    running.endLoops();
    await endWatches(server, clock, graceMs);
    await closed;
  };
  return {
    listener,
    reportWaiting: reason => waiting.report(reason),
    serve(handler) {
      httpServer.serve(handler);
      waiting.close();
    },
    stop,
  };
};

/** Waits until no requests are in flight, up to a limit. */
const drained = async ({inFlight}: ApiServer, clock: Clock, timeoutMs: number): Promise<void> => {
  const deadline = clock.monotonic() + timeoutMs;
  while (inFlight.all > 0 && clock.monotonic() < deadline) await sleep(clock, 10);
};

const stepMs = 50;

/**
 * Ends all watches evenly over the grace period, so that their clients do not reconnect to the next server all at once.
 */
const endWatches = async (server: ApiServer, clock: Clock, graceMs: number): Promise<void> => {
  const all = server.watchers;
  let ended = 0;
  for (let leftMs = graceMs; leftMs > 0 && server.watchers > 0; leftMs -= stepMs) {
    // The limit spares clients that reconnected meanwhile.
    const due = all - Math.floor((all * leftMs) / graceMs) - ended;
    server.endWatches(due);
    ended += due;
    await sleep(clock, Math.min(stepMs, leftMs));
  }
  server.endWatches();
};

/** The address by which clients on this machine reach the port. */
export const hostPort = ({listener: {address, port}}: Sockets): string => {
  const host = address === '0.0.0.0' || address === '::' || address === '' ? '127.0.0.1' : address;
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
};
