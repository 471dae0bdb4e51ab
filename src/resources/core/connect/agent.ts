import {kinds} from '#src/api/kinds/index.js';
import {plainFailure, notFound} from '#src/api/status.js';
import type {Node} from '#src/api/types.js';
import type {ConnectContext} from '#src/resources/definition.js';

const agentPort = 10250;

const hostOf = ({status}: Readonly<Node>, preferred: readonly string[]): string => {
  const known = status?.addresses ?? [];
  for (const requested of preferred) {
    // An empty host would be this machine.
    const found = known.find(({type, address}) => type === requested && address !== '');
    if (found) return found.address;
  }
  throw plainFailure(
    `no preferred addresses found; known addresses: [${known.map(({type, address}) => `{${type} ${address}}`).join(' ')}]`,
  );
};

/**
 * Returns the address of a node's agent. Throws if the node has no address this server may use, or does not exist: upstream, a pod's subresource then
 * reports a missing pod of the node's name.
 */
export const agentOf = async (
  {reader, agentAddresses}: ConnectContext,
  name: string,
  resource: 'nodes' | 'pods' = 'nodes',
): Promise<{readonly host: string; readonly port: string}> => {
  const node = await reader.get(kinds.nodes, '', name);
  if (!node) throw notFound({group: '', resource}, name);
  return {host: hostOf(node, agentAddresses), port: String(node.status?.daemonEndpoints?.kubeletEndpoint?.Port || agentPort)};
};
