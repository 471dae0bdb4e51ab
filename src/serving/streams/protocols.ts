import type {ApiRequest} from '#src/api/request.js';
import {knownApiSuffixes} from '#src/api/naming.js';
import {offered, wantsWebSocket} from '#src/serving/websocket-server.js';

/** The protocol that is put through a WebSocket as it is. */
export const spdy = 'SPDY/3.1';

/** The suffix of the vocabulary in which a client offers a protocol of that name; both are understood. */
const suffixOf = (request: ApiRequest, name: string): string | undefined =>
  wantsWebSocket(request) ? knownApiSuffixes.find(suffix => offered(request).some(protocol => protocol.toLowerCase() === `${name}.${suffix}`)) : undefined;

/** The protocol, where a client wants to talk to a command in the way that tells of streams' ends (version 5), and what agents are offered in its place, best first. */
export const commandProtocols = (request: ApiRequest): {readonly own: string; readonly agents: readonly string[]} | undefined => {
  const suffix = suffixOf(request, 'v5.channel');
  if (suffix === undefined) return undefined;
  return {own: `v5.channel.${suffix}`, agents: ['v5', 'v4', 'v3', 'v2'].map(version => `${version}.channel.${suffix}`)};
};

/** The protocols that a client wants put through his WebSocket. */
export const tunnelProtocols = (request: ApiRequest): string[] =>
  wantsWebSocket(request) ? offered(request).filter(protocol => protocol.startsWith(`${spdy}+`) && knownApiSuffixes.some(suffix => protocol.endsWith(`.${suffix}`))).map(protocol => protocol.slice(spdy.length + 1)) : [];

/** Headers of a caller's WebSocket that mean nothing to who speaks another protocol. */
export const withoutWebSocket = {
  'sec-websocket-protocol': undefined,
  'sec-websocket-key': undefined,
  'sec-websocket-version': undefined,
  'sec-websocket-extensions': undefined,
} as const;
