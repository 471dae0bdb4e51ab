/**
 * Flags of an API server of agents on its machine, which are reached by their addresses: the names of nodes need not
 * resolve.
 */
export const agentServerArgs: readonly string[] = ['--platlet-preferred-address-types=InternalIP,ExternalIP,Hostname'];
