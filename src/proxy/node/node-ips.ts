// The addresses of the node that the rules know.

import type {Frozen} from '#src/api/key.js';
import type {Node} from '#src/api/types.js';
import {formatIp, parseLooseIp} from '#src/base/ip-address.js';
import {familyOfIp, ipFamilies, type IpFamily} from '#src/proxy/state/ip-family.js';

/** Returns the first address of each family that the Node's status shows, internal ones first. */
export const hostIpsOf = (node: Frozen<Node> | undefined): readonly string[] => {
  const addresses = node?.status?.addresses ?? [];
  const all = ['InternalIP', 'ExternalIP'].flatMap(wanted =>
    addresses.flatMap(({type, address}) => (type === wanted ? (parseLooseIp(address) ?? []) : [])),
  );
  const [first] = all;
  const other = all.find(({family}) => family !== first?.family);
  return [first, other].flatMap(address => (address ? [formatIp(address)] : []));
};

/** The addresses of a node, and the family that it has when it has only one. */
export interface NodeIps {
  readonly primary: IpFamily;
  readonly byFamily: Readonly<Record<IpFamily, string>>;
}

const isUnspecified = (text: string): boolean => parseLooseIp(text)?.value === 0n;

/** The address that the proxy is bound to comes before those of the Node, and these before the loopback's. */
export const nodeIpsOf = (hostIps: readonly string[], bindAddress: string): NodeIps => {
  const byFamily = {IPv4: '127.0.0.1', IPv6: '::1'};
  for (const family of ipFamilies) byFamily[family] = hostIps.find(ip => familyOfIp(ip) === family) ?? byFamily[family];
  const bound = familyOfIp(bindAddress);
  if (bound === undefined || isUnspecified(bindAddress)) return {primary: (hostIps[0] && familyOfIp(hostIps[0])) || 'IPv4', byFamily};
  return {primary: bound, byFamily: {...byFamily, [bound]: formatIp(parseLooseIp(bindAddress)!)}};
};
