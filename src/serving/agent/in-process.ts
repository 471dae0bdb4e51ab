import {createServer} from 'node:http';
import type {Duplex} from 'node:stream';
import {confineServer} from '#src/serving/http1/server.js';
import type {RequestHandler} from '#src/serving/listener.js';
import {duplexPair} from '#src/transport/duplex-pair.js';

/** An HTTP/1.1 server for clients in this process, which connect without a socket. */
export interface InProcessServer {
  connect(): Duplex;
}

const maxHeaderBytes = 1 << 20;

export const inProcessServer = (handler: RequestHandler): InProcessServer => {
  const server = confineServer(createServer({maxHeaderSize: maxHeaderBytes}), handler);
  server.on('request', (request, response) => {
    response.shouldKeepAlive = false; // In-process connections cost nothing, so idle ones are not limited.
    handler.http1(request, response);
  });
  server.on('upgrade', (request, socket, head) => handler.upgrade(request, socket, head));
  return {
    connect() {
      const [near, far] = duplexPair();
      server.emit('connection', far);
      return near;
    },
  };
};
