import http, {type IncomingMessage, type RequestListener} from 'node:http';
import https from 'node:https';
import type {AddressInfo} from 'node:net';
import type {Duplex} from 'node:stream';
import type {Socket} from 'node:net';
import {aPair, anAuthority} from '#test/serving/credentials.js';
import {authorityPem} from '#src/pki/authority.js';

export interface TestBackend extends AsyncDisposable {
  readonly port: string;
  /** The trust for its certificate; empty for one without TLS. */
  readonly ca: string;
  readonly requests: readonly IncomingMessage[];
  /** Connections made so far, and those still open. */
  readonly made: number;
  readonly open: number;
}

type OnUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** A server of somebody else on this machine. With TLS its certificate names `localhost` and 127.0.0.1. */
export const aBackend = async (
  answer: RequestListener,
  {tls = false, upgrade}: {readonly tls?: boolean; readonly upgrade?: OnUpgrade} = {},
): Promise<TestBackend> => {
  const authority = await anAuthority();
  const pair = await aPair(authority, {commonName: 'backend'}, 'server auth');
  const requests: IncomingMessage[] = [];
  const sockets = new Set<Socket>();
  let made = 0;
  const listener: RequestListener = (request, response) => {
    requests.push(request);
    answer(request, response);
  };
  const server = tls ? https.createServer({...pair, requestCert: true, rejectUnauthorized: false}, listener) : http.createServer(listener);
  server.on('connection', (socket: Socket) => {
    made++;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  if (upgrade) {
    server.on('upgrade', (request, socket, head) => {
      requests.push(request);
      socket.on('error', () => {});
      upgrade(request, socket, head);
    });
  }
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    port: String((server.address() as AddressInfo).port),
    ca: tls ? authorityPem(authority).certificate : '',
    requests,
    get made() {
      return made;
    },
    get open() {
      return sockets.size;
    },
    [Symbol.asyncDispose]: () =>
      new Promise(resolve => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
};
