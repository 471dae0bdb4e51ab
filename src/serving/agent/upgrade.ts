import type {ApiRequest, ApiResponse} from '#src/api/request.js';
import type {Clock} from '#src/base/clock.js';
import {openWebSocket, type WebSocketClient} from '#src/serving/websocket-server.js';

/** The answer that opens a WebSocket of the agreed protocol and hands its client over. A handshake that fails closes the connection. */
export const upgradeToWebSocket = (request: ApiRequest, protocol: string, clock: Clock, serve: (client: WebSocketClient) => unknown): ApiResponse => ({
  status: 101,
  headers: {},
  body: {
    kind: 'upgrade',
    drop: () => {},
    take: (socket, head, keeps) => void openWebSocket(request, {socket, head, protocol, clock, keeps}).then(serve, () => socket.destroy()),
  },
});
