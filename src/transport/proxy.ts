// A network behind a proxy: connections are tunnelled by CONNECT (RFC 9110 §9.3.6) or SOCKS 5 (RFC 1928). Names are resolved by the proxy.

import {request, type IncomingMessage} from 'node:http';
import type {Socket} from 'node:net';
import type {Clock} from '#src/base/clock.js';
import {requestError} from './error-words.js';
import {endpoint, type Network} from './network.js';
import {handshake} from './tls-handshake.js';

const defaultPorts: Readonly<Record<string, string>> = {'http:': '80', 'https:': '443', 'socks5:': '1080'};

/** How long a proxy may take to establish a tunnel. */
const tunnelTimeoutMs = 30_000;

/** Returns the network behind the proxy at a URL. Throws for a scheme that is not supported. */
export const throughProxy = (network: Network, proxyUrl: string, clock: Clock): Network => {
  const proxy = new URL(proxyUrl);
  const {protocol, hostname} = proxy;
  const host = hostname.replace(/^\[|\]$/g, '');
  const port = proxy.port || defaultPorts[protocol];
  if (port === undefined) throw new Error(`unsupported scheme "${protocol.slice(0, -1)}", must be http, https, or socks5`);
  const toProxy = async (): Promise<Socket> => {
    const socket = await network.dial(host, port);
    return protocol === 'https:' ? handshake(socket, {serverName: host}, clock) : socket;
  };
  const tunnel = protocol === 'socks5:' ? socksTunnel : httpTunnel;
  return {
    async dial(to, toPort) {
      let socket: Socket | undefined;
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
  };
};

const credentialsOf = ({username, password}: URL) => ({username: decodeURIComponent(username), password: decodeURIComponent(password)});

/** Asks the proxy for a tunnel. Rejects with the reason of its refusal. */
const httpTunnel = (socket: Socket, proxy: URL, host: string, port: string): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const {username, password} = credentialsOf(proxy);
    const at = endpoint(host, port);
    const sent = request({
      method: 'CONNECT',
      path: at,
      headers: {
        host: at,
        ...(username ? {'proxy-authorization': `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`} : {}),
      },
      createConnection: () => socket,
    });
    sent.once('connect', ({statusCode = 0, statusMessage}: IncomingMessage, _: unknown, head: Buffer) => {
      if (statusCode !== 200) return reject(new Error(statusMessage || String(statusCode)));
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
    sent.on('error', error => reject(requestError(error, socket)));
    sent.end();
  });

const socksTunnel = async (socket: Socket, proxy: URL, host: string, port: string): Promise<Socket> => {
  const {Socks5Client} = await import('undici/lib/core/socks5-client.js');
  const client = new Socks5Client(socket, credentialsOf(proxy));
  await new Promise<void>((resolve, reject) => {
    client.on('error', reject);
    client.once('close', () => reject(new Error('EOF')));
    client.once('authenticated', () => client.connect(host, Number(port)));
    client.once('connected', () => resolve());
    client.handshake();
  });
  return socket;
};
