// A network behind a proxy: connections are tunnelled by CONNECT (RFC 9110 §9.3.6) or SOCKS 5 (RFC 1928). Names are
// resolved by the proxy.

import type {Socket} from 'node:net';
import type {Duplex} from 'node:stream';
import type {Clock} from '#src/base/clock.js';
import {requestTunnel} from './http-connect.js';
import {endpoint, type Network} from './network.js';
import {handshake} from './tls-handshake.js';

const defaultPorts: Readonly<Record<string, string>> = {'http:': '80', 'https:': '443', 'socks5:': '1080', 'socks5h:': '1080'};

/** How long a proxy may take to establish a tunnel. */
const tunnelTimeoutMs = 30_000;

/** Returns the network behind the proxy at a URL. Throws for a scheme that is not supported. */
export const throughProxy = (network: Network, proxyUrl: string, clock: Clock): Network => {
  const proxy = new URL(proxyUrl);
  const {protocol, hostname} = proxy;
  const host = hostname.replace(/^\[|\]$/g, '');
  const port = proxy.port || defaultPorts[protocol];
  if (port === undefined) throw new Error(`unsupported scheme "${protocol.slice(0, -1)}", must be http, https, or socks5`);
  const toProxy = async (): Promise<Duplex> => {
    const socket = await network.dial(host, port);
    return protocol === 'https:' ? handshake(socket, {serverName: host}, clock) : socket;
  };
  const tunnel = protocol.startsWith('socks5') ? socksTunnel : httpTunnel;
  return {
    async dial(to, toPort) {
      let socket: Duplex | undefined;
      const timer = clock.schedule(tunnelTimeoutMs, () => socket?.destroy(new Error(`dial tcp ${endpoint(to, toPort)}: i/o timeout`)));
      try {
        socket = await toProxy();
        return await tunnel(socket, proxy, to, toPort);
      } catch (cause) {
        socket?.destroy();
        throw new Error(`proxyconnect tcp: ${(cause as Error).message}`, {cause});
      } finally {
        timer[Symbol.dispose]();
      }
    },
    resolve: name => network.resolve(name),
    ...(network.within ? {within: (to, toPort) => network.within!(to, toPort)} : {}),
  };
};

const credentialsOf = ({username, password}: URL) => ({username: decodeURIComponent(username), password: decodeURIComponent(password)});

const httpTunnel = (connection: Duplex, proxy: URL, host: string, port: string): Promise<Duplex> => {
  const {username, password} = credentialsOf(proxy);
  const at = endpoint(host, port);
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  return requestTunnel(connection, at, {host: at, ...(username ? {'proxy-authorization': authorization} : {})});
};

const socksTunnel = async (connection: Duplex, proxy: URL, host: string, port: string): Promise<Duplex> => {
  const {Socks5Client} = await import('undici/lib/core/socks5-client.js');
  const client = new Socks5Client(connection as Socket, credentialsOf(proxy));
  await new Promise<void>((resolve, reject) => {
    client.on('error', reject);
    client.once('close', () => reject(new Error('EOF')));
    client.once('authenticated', () => client.connect(host, Number(port)));
    client.once('connected', () => resolve());
    client.handshake();
  });
  return connection;
};
