import type {ApiRequest} from '#src/api/request.js';
import {knownApiSuffixes} from '#src/api/naming.js';
import {offered, isWebSocketRequest} from './websocket-server.js';

/** The protocol that is tunneled through a WebSocket. */
export const spdy = 'SPDY/3.1';

/** The naming suffix with which a client offers a protocol; both are supported. */
const suffixOf = (request: ApiRequest, name: string): string | undefined =>
  isWebSocketRequest(request)
    ? knownApiSuffixes.find(suffix => offered(request).some(protocol => protocol.toLowerCase() === `${name}.${suffix}`))
    : undefined;

/**
 * The protocol of clients that support half-close of streams (version 5), and the protocols offered to agents instead,
 * best first.
 */
export const commandProtocols = (request: ApiRequest): {readonly own: string; readonly agents: readonly string[]} | undefined => {
  const suffix = suffixOf(request, 'v5.channel');
  if (suffix === undefined) return undefined;
  return {own: `v5.channel.${suffix}`, agents: ['v5', 'v4', 'v3', 'v2'].map(version => `${version}.channel.${suffix}`)};
};

/** The protocols that a client requests to tunnel through its WebSocket. */
export const tunnelProtocols = (request: ApiRequest): string[] =>
  isWebSocketRequest(request)
    ? offered(request)
        .filter(protocol => protocol.startsWith(`${spdy}+`) && knownApiSuffixes.some(suffix => protocol.endsWith(`.${suffix}`)))
        .map(protocol => protocol.slice(spdy.length + 1))
    : [];

/** Headers of a client's WebSocket that do not apply to other protocols. */
export const withoutWebSocket = {
  'sec-websocket-protocol': undefined,
  'sec-websocket-key': undefined,
  'sec-websocket-version': undefined,
  'sec-websocket-extensions': undefined,
} as const;
