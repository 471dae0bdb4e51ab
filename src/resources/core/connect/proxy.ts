import {kind} from '#src/api/kind.js';
import {badRequest} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {parseIp, parseRange, rangeHolds, unmapped} from '#src/base/ip-address.js';
import type {ConnectContext, ConnectDestination, ConnectSubresource} from '#src/resources/definition.js';

// The proxy subresources of nodes, pods and services: parses `[scheme:]name[:port]` and checks destination addresses.
// Opens no connections; `locate` only returns the destination.

/** The target of a proxied call: `[scheme:]name[:port]`. */
export interface ProxyTarget {
  readonly scheme: '' | 'http' | 'https';
  readonly name: string;
  readonly port: string;
}

const isScheme = (text: string): text is ProxyTarget['scheme'] => text === '' || text === 'http' || text === 'https';

/** Parses the target of a proxied call. Throws 400 for an invalid one; `what` is the resource's name in the error. */
export const parseProxyTarget = (what: string, id: string): ProxyTarget => {
  const parts = id.split(':');
  const [scheme, name, port] = parts.length === 3 ? parts : ['', parts[0]!, parts[1] ?? ''];
  if (parts.length > 3 || !name || !isScheme(scheme!)) throw badRequest(`invalid ${what} request ${JSON.stringify(id)}`);
  return {scheme, name, port: port!};
};

const special = ['0.0.0.0/32', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/4', '255.255.255.255/32', '::/127', 'fe80::/10', 'ff00::/8'].map(
  text => parseRange(text)!,
);

/** Reports whether calls may go to an address: not to loopback, link-local or unspecified ones. */
export const isAllowedDestination = (text: string): boolean => {
  // Leading zeros are octal to the system's resolver: what was checked must be what is dialled.
  const address = parseIp(text);
  return address !== undefined && !special.some(range => rangeHolds(range, unmapped(address)));
};

/** Returns a proxy subresource, which relays calls of every method. */
export const proxySubresource = (
  options: string,
  namespaced: boolean,
  locate: (connection: ConnectContext) => Promise<ConnectDestination>,
): ConnectSubresource => ({
  kind: kind<KubeObject>('', 'v1', options, options.toLowerCase(), namespaced),
  verbs: ['create', 'delete', 'get', 'patch', 'update'],
  mode: 'calls',
  options: {
    kind: options,
    fields: [{name: 'path', type: 'string', description: 'The path that is called, as the rest of this path says it.'}],
  },
  locate,
});
