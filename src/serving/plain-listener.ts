import http from 'node:http';
import {isIP, type AddressInfo, type Socket} from 'node:net';
import {bindError, hostsToTry, lacksFamily} from './binding.js';
import {ConnectionLimit} from '#src/serving/limits/connection-limit.js';
import {confineServer, isIdle} from '#src/serving/http1/server.js';
import {PacedRequests} from '#src/serving/http1/paced-requests.js';
import type {RequestHandler} from './listener.js';

/** A port without TLS. */
export interface PlainListener {
  readonly address: string;
  readonly port: number;
  close(): Promise<void>;
}

export interface PlainListenerOptions {
  /** Empty means all interfaces. */
  readonly bindAddress: string;
  /** 0 selects a free port. */
  readonly port: number;
  readonly handler: RequestHandler;
  /** The flags to name in errors. */
  readonly flags: string;
  /** Whether requests for an upgrade are passed to the handler as such; otherwise they are answered as any other. */
  readonly upgrades?: boolean;
}

/** Enough for probes and scrapers. */
const maxConnections = 256;

const plainServer = ({handler, upgrades}: PlainListenerOptions): http.Server => {
  const settings = {
    headersTimeout: 10_000,
    requestTimeout: 30_000,
    keepAliveTimeout: 90_000,
    connectionsCheckingInterval: 1000,
    requireHostHeader: false,
  };
  const server = confineServer(http.createServer(settings), handler);
  const limit = new ConnectionLimit(maxConnections);
  const paced = new PacedRequests();
  paced.follow(server);
  server.on('connection', (socket: Socket) => {
    if (limit.enter(socket, () => isIdle(socket))) paced.accept(socket);
  });
  if (upgrades) server.on('upgrade', (request, socket, head) => handler.upgrade(request, socket, head));
  return server.on('request', (request, response) => handler.http1(request, response));
};

/** Listens for HTTP/1.1 without TLS, for probes and scrapers. Rejects with an error of one line that names the flag. */
export const listenPlain = async (options: PlainListenerOptions): Promise<PlainListener> => {
  const {bindAddress, port, flags} = options;
  let failure: unknown;
  for (const host of hostsToTry(bindAddress)) {
    const server = plainServer(options);
    try {
      await new Promise<void>((resolve, reject) => server.once('error', reject).listen({host, port}, resolve));
      server.on('error', () => {});
      const {address, port: bound} = server.address() as AddressInfo;
      return {address, port: bound, close: () => closed(server)};
    } catch (error) {
      failure = error;
      if (!lacksFamily(error)) break;
    }
  }
  throw bindError(failure, bindAddress, port, flags);
};

const closed = async (server: http.Server): Promise<void> => {
  await new Promise(resolve => {
    server.close(resolve);
    server.closeAllConnections();
  });
};

/** Returns the host and port of `host:port`, `:port` or `[::1]:port`; undefined for other text. */
export const parseBindAddress = (text: string): {readonly bindAddress: string; readonly port: number} | undefined => {
  const [, inBrackets, plain = '', digits = ''] = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? [];
  const bindAddress = inBrackets ?? plain;
  const port = Number(digits);
  if (digits === '' || port > 65_535 || (inBrackets !== undefined && isIP(inBrackets) !== 6)) return undefined;
  return {bindAddress, port};
};
