// The addresses of a node.

import {isIP} from 'node:net';
import {parseIp} from '#src/base/ip-address.js';

export interface AddressParts {
  readonly nodeName: string;
  readonly hostname: string;
  /** The addresses of `--node-ip`; `0.0.0.0` and `::` prefer a family. */
  readonly nodeIps: readonly string[];
  /** Whether an external cloud provider sets addresses: without `--node-ip` the agent has none but its host name. */
  readonly hasExternalCloud: boolean;
  /** The addresses of the machine's interfaces. */
  interfaces(): readonly string[];
  /** The address of the interface with the default route; undefined if there is none. */
  defaultAddress(family: 4 | 6): Promise<string | undefined>;
  /** Returns the addresses of a host name. Rejects if there are none. */
  resolve(name: string): Promise<readonly string[]>;
}

export interface NodeAddress {
  readonly type: 'InternalIP' | 'Hostname';
  readonly address: string;
}

const isUnspecified = (address: string): boolean => address === '0.0.0.0' || address === '::';

/** Returns why an address cannot be a node address; undefined if it can. */
export const addressProblem = (address: string, interfaces: readonly string[]): string | undefined => {
  const parsed = parseIp(address);
  if (!parsed) return 'nodeIP must be valid IP address';
  const {family, value} = parsed;
  const top = family === 4 ? Number(value >> 24n) : Number(value >> 120n);
  const next = family === 4 ? Number((value >> 16n) & 0xffn) : Number((value >> 112n) & 0xffn);
  if (family === 4 ? top === 127 : value === 1n) return "nodeIP can't be loopback address";
  if (family === 4 ? top >= 224 && top < 240 : top === 0xff) return "nodeIP can't be a multicast address";
  if (family === 4 ? top === 169 && next === 254 : top === 0xfe && (next & 0xc0) === 0x80)
    return "nodeIP can't be a link-local unicast address";
  if (value === 0n) return "nodeIP can't be an all zeros address";
  return interfaces.includes(address) ? undefined : `node IP: ${JSON.stringify(address)} not found in the host's network interfaces`;
};

const familyOf = (address: string): 4 | 6 => (isIP(address) === 6 ? 6 : 4);

/** Returns the default address: of the host name, or of the interface with the default route. */
const foundAddress = async (parts: AddressParts, preferred: 4 | 6): Promise<string> => {
  const {nodeName, hostname, interfaces, resolve, defaultAddress} = parts;
  if (isIP(hostname)) return hostname;
  const all = await resolve(nodeName).catch(() => []);
  const usable = all.filter(address => addressProblem(address, interfaces()) === undefined);
  const other = preferred === 4 ? 6 : 4;
  const found =
    usable.find(address => familyOf(address) === preferred) ??
    usable[0] ??
    (await defaultAddress(preferred)) ??
    (await defaultAddress(other));
  if (found === undefined)
    throw new Error(
      `can't get ip address of node ${nodeName}. error: no default routes found in "/proc/net/route" or "/proc/net/ipv6_route"`,
    );
  return found;
};

/** Returns the addresses of a node: one, or one per IP family, and then its host name. Rejects if it has none. */
export const nodeAddresses = async (parts: AddressParts): Promise<readonly NodeAddress[]> => {
  const {nodeIps, hasExternalCloud, hostname, interfaces} = parts;
  const [first] = nodeIps;
  const given = nodeIps.filter(address => !isUnspecified(address));
  for (const address of given) {
    const problem = addressProblem(address, interfaces());
    if (problem !== undefined) throw new Error(`failed to validate nodeIP: ${problem}`);
  }
  if (hasExternalCloud && nodeIps.length === 0) return [{type: 'Hostname', address: hostname}];
  const addresses = given.length > 0 ? given : [await foundAddress(parts, first === '::' ? 6 : 4)];
  return [...addresses.map(address => ({type: 'InternalIP' as const, address})), {type: 'Hostname', address: hostname}];
};

/**
 * Returns the addresses of `--node-ip` for an external cloud provider, comma separated; undefined if there are none.
 */
export const providedAddressesOf = (nodeIps: readonly string[]): string | undefined =>
  nodeIps.filter(address => !isUnspecified(address)).join(',') || undefined;

/** Returns the node name for a host name, trimmed and in lower case. Throws if it is empty. */
export const nodeNameOf = (hostname: string): string => {
  const name = hostname.trim().toLowerCase();
  if (name === '') throw new Error('empty hostname is invalid');
  return name;
};
