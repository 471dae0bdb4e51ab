import {createServer} from 'node:http';
import type {Duplex} from 'node:stream';
import type {RequestHandler} from '#src/serving/listener.js';
import {duplexPair} from '#src/transport/duplex-pair.js';

/** A server of HTTP/1.1 for callers in this process, who connect without a socket. */
export interface InProcessServer {
  connect(): Duplex;
}

const maxHeaderBytes = 1 << 20;

export const inProcessServer = (handler: RequestHandler): InProcessServer => {
  const server = createServer({maxHeaderSize: maxHeaderBytes}, (request, response) => {
    response.shouldKeepAlive = false; // Connections cost nothing, and there is no end to how many rest otherwise.
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
