import type {ApiRequest, ApiResponse} from '#src/api/request.js';
import type {Clock} from '#src/base/clock.js';
import {openWebSocket, type WebSocketClient} from '#src/serving/streams/websocket-server.js';

/** The response that opens a WebSocket with the negotiated protocol and passes on its client. A failed handshake closes the connection. */
export const upgradeToWebSocket = (
  request: ApiRequest,
  protocol: string,
  clock: Clock,
  serve: (client: WebSocketClient) => unknown,
): ApiResponse => ({
  status: 101,
  headers: {},
  body: {
    kind: 'upgrade',
    drop: () => {},
    take: (socket, head, accountBuffer) =>
      void openWebSocket(request, {socket, head, protocol, clock, accountBuffer}).then(serve, () => socket.destroy()),
  },
});
