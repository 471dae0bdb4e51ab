import type {ApiRequest, ApiResponse} from '#src/api/request.js';
import {openWebSocket, type WebSocketClient} from '#src/serving/streams/websocket-server.js';
import {closeIdle, type StreamLimits} from './idle.js';

/** Returns a client that is cut off when it is idle for too long. */
const limited = (client: WebSocketClient, limits: StreamLimits): WebSocketClient => {
  let moved = 0;
  client.onMessage(() => void moved++);
  const idle = closeIdle(
    limits,
    () => moved,
    () => client.terminate(),
  );
  client.onClose(() => idle[Symbol.dispose]());
  return {
    ...client,
    send(message) {
      moved++;
      return client.send(message);
    },
  };
};

/**
 * The response that opens a WebSocket with the negotiated protocol and passes on its client. A failed handshake closes
 * the connection.
 */
export const upgradeToWebSocket = (
  request: ApiRequest,
  protocol: string,
  limits: StreamLimits,
  serve: (client: WebSocketClient) => unknown,
): ApiResponse => ({
  status: 101,
  headers: {},
  body: {
    kind: 'upgrade',
    drop: () => {},
    take: (socket, head, accountBuffer) =>
      void openWebSocket(request, {socket, head, protocol, clock: limits.clock, accountBuffer}).then(
        client => serve(limited(client, limits)),
        () => socket.destroy(),
      ),
  },
});
