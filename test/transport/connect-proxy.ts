import {once} from 'node:events';
import {createServer, type IncomingMessage, type Server} from 'node:http';
import https from 'node:https';
import {connect, type AddressInfo, type Socket} from 'node:net';
import type {Duplex} from 'node:stream';

export interface TestProxy extends Disposable {
  readonly port: number;
  /** The targets of tunnels, as requested. */
  readonly tunnels: string[];
  /** The requests for tunnels. */
  readonly requests: IncomingMessage[];
}

/**
 * A proxy for CONNECT, on a port or a unix socket, with or without TLS. All names lead to this machine; a target at
 * port 1 is refused.
 */
export const aConnectProxy = async ({
  socket,
  tls,
}: {readonly socket?: string; readonly tls?: https.ServerOptions} = {}): Promise<TestProxy> => {
  const [tunnels, requests]: [string[], IncomingMessage[]] = [[], []];
  const open = new Set<Duplex>();
  const server: Server = tls ? https.createServer(tls) : createServer();
  server.on(tls ? 'secureConnection' : 'connection', (connection: Socket) => open.add(connection.on('error', () => {})));
  server.on('connect', (request: IncomingMessage, inner: Duplex) => {
    const {url = ''} = request;
    tunnels.push(url);
    requests.push(request);
    if (url.endsWith(':1')) return inner.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    const outer = connect(Number(url.slice(url.lastIndexOf(':') + 1)), '127.0.0.1').on('error', () => inner.destroy());
    open.add(outer);
    inner.on('error', () => {}).write('HTTP/1.1 200 Connection established\r\n\r\n');
    inner.pipe(outer).pipe(inner);
  });
  server.listen(socket ? {path: socket} : {port: 0, host: '127.0.0.1'});
  await once(server, 'listening');
  return {
    port: socket ? 0 : (server.address() as AddressInfo).port,
    tunnels,
    requests,
    [Symbol.dispose]() {
      for (const one of open) one.destroy();
      server.close();
    },
  };
};
