import {badRequest} from '#src/api/status.js';
import type {ConnectSubresource} from '#src/resources/definition.js';
import {agentOf} from './agent.js';
import {proxySubresource, isAllowedDestination, parseProxyTarget} from './proxy.js';

/** The connect subresources of nodes, answered by the agent or another port of the node. */
export const nodeConnectSubresources: Readonly<Record<string, ConnectSubresource>> = {
  proxy: proxySubresource('NodeProxyOptions', false, async connection => {
    const {scheme, name, port: requested} = parseProxyTarget('node', connection.name);
    const {host, port} = await agentOf(connection, name);
    const addresses = await connection.resolve(host).catch((error: Error) => {
      throw badRequest(error.message, error);
    });
    if (addresses.length === 0) throw badRequest('No addresses for hostname');
    if (!addresses.every(isAllowedDestination)) throw badRequest('address not allowed');
    if (requested === '' || requested === port) return {scheme: 'https', host, addresses, port, path: '', agent: true};
    return {scheme: scheme || 'http', host, addresses, port: requested, path: '', agent: false};
  }),
};
