import type {ApiResponse} from '#src/api/request.js';
import type {Connections} from '#src/transport/http1/connections.js';
import type {RelayRequest} from '#src/transport/relay/call.js';
import {dialFailure, join, refusedResponse, requestUpgrade, UpgradeRefused, type Upgraded} from '#src/transport/relay/upgrade.js';
import {openWebSocket} from './websocket-server.js';
import {spdy, tunnelProtocols, withoutWebSocket} from './protocols.js';

const refused = (status: number, text: string): ApiResponse => ({
  status,
  headers: {'X-Content-Type-Options': 'nosniff'},
  body: {kind: 'bytes', bytes: `${text}\n`, contentType: 'text/plain; charset=utf-8'},
});

/**
 * Tunnels a backend's protocol through the client's WebSocket, bytes as messages. Rejects when the backend is not
 * reached.
 */
export const tunnelThroughWebSocket = async (backends: Connections, relayed: RelayRequest): Promise<ApiResponse> => {
  try {
    const made = await requestUpgrade(
      backends,
      {
        ...relayed,
        method: 'POST',
        headers: {...relayed.headers, ...withoutWebSocket, 'x-stream-protocol-version': tunnelProtocols(relayed.request)},
      },
      spdy,
    );
    const {connection = '', upgrade = ''} = made.answer.headers;
    if (/upgrade/i.test(connection) && upgrade.toLowerCase().includes(spdy.toLowerCase())) return joined(backends, relayed, made);
    made.socket.destroy();
    return refused(500, 'unable to upgrade: missing upgrade headers in response');
  } catch (error) {
    if (error instanceof UpgradeRefused) return refusedResponse(error);
    throw dialFailure(error as Error);
  }
};

const joined = ({clock}: Connections, {request}: RelayRequest, {socket: backend, head: early, answer}: Upgraded): ApiResponse => {
  const chosen = String(answer.headers['x-stream-protocol-version'] ?? '').trim();
  return {
    status: 101,
    headers: {},
    body: {
      kind: 'upgrade',
      drop: () => void backend.destroy(),
      take(socket, head, accountBuffer) {
        openWebSocket(request, {socket, head, protocol: chosen ? `${spdy}+${chosen}` : '', clock, accountBuffer})
          .then(client => client.stream())
          .then(client => {
            if (early.length > 0) client.write(early);
            join(client, backend, clock);
          })
          .catch(() => {
            backend.destroy();
            socket.destroy();
          });
      },
    },
  };
};
