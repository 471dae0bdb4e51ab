import type {Readable} from 'node:stream';
import type {ApiRequest, ApiResponse} from '#src/api/request.js';
import {knownApiSuffixes} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import {negotiatedProtocol, openWebSocket, refusedProtocols, type WebSocketClient} from './websocket-server.js';

export {isWebSocketRequest as wantsWebSocket} from './websocket-server.js';

/** Protocols with a single stream: as bytes, or as base64 texts. */
const protocols = knownApiSuffixes.flatMap(suffix => [`binary.${suffix}`, `base64.binary.${suffix}`]);

/** The size limit of a message's text. */
const messageBytes = 2048;

/**
 * Sends a text to a WebSocket client while it is being written, after an empty first message that marks its beginning.
 * The client's input is ignored.
 */
export const textOverWebSocket = (request: ApiRequest, source: Readable, clock: Clock): ApiResponse => {
  const protocol = negotiatedProtocol(request, ['', ...protocols]);
  if (protocol === undefined) {
    source.destroy();
    return refusedProtocols();
  }
  return {
    status: 101,
    headers: {},
    body: {
      kind: 'upgrade',
      drop: () => void source.destroy(),
      async take(socket, head, accountBuffer) {
        socket.once('close', () => source.destroy());
        let client: WebSocketClient;
        try {
          const withSource: typeof accountBuffer = bytes => accountBuffer?.(() => bytes() + source.readableLength);
          client = await openWebSocket(request, {socket, head, protocol, clock, accountBuffer: withSource});
        } catch {
          socket.destroy(); // The client has disconnected, or was refused because of a malformed handshake.
          return;
        }
        const isText = protocol.startsWith('base64.');
        client.onMessage(() => {});
        client.send(isText ? '' : Buffer.alloc(0));
        try {
          for await (const chunk of source as AsyncIterable<Buffer>) {
            for (let at = 0; at < chunk.length; at += messageBytes) {
              const piece = chunk.subarray(at, at + messageBytes);
              if (!client.send(isText ? piece.toString('base64') : piece)) await client.drained();
            }
          }
        } catch {
          client.terminate();
        }
        client.close();
      },
    },
  };
};
