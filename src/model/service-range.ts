import type {Naming} from '#src/api/naming.js';
import {rangeHolds, rangeSize, rangeStart, type IpAddress, type IpRange} from '#src/base/ip-address.js';

/** The addresses of a range that services may have, as whole numbers. */
export interface ServiceAddresses {
  readonly first: bigint;
  readonly count: bigint;
}

/** Which addresses of a range services may have: not that of the network, and for IPv4 not that of broadcasts. */
export const serviceAddresses = (range: IpRange): ServiceAddresses => {
  const size = rangeSize(range);
  return {first: rangeStart(range).value + 1n, count: size > 2n ? size - (range.address.family === 4 ? 2n : 1n) : 0n};
};

/** Whether services may have an address from a range. */
export const isServiceAddress = (range: IpRange, address: IpAddress): boolean => {
  const {first, count} = serviceAddresses(range);
  return rangeHolds(range, address) && address.value >= first && address.value < first + count;
};

/** Whether every address of one range lies in the other. */
export const rangeWithin = (inner: IpRange, outer: IpRange): boolean => outer.bits <= inner.bits && rangeHolds(outer, inner.address);

export const rangesOverlap = (one: IpRange, other: IpRange): boolean => rangeWithin(one, other) || rangeWithin(other, one);

const managedBy = (naming: Naming): readonly [key: string, value: string] => [naming.subKey('ipaddress', 'managed-by'), `ipallocator.${naming.apiSuffix}`];

/** The labels of an object that holds an address for a service. */
export const addressLabels = (naming: Naming, address: string): Record<string, string> => {
  const [key, value] = managedBy(naming);
  return {[naming.subKey('ipaddress', 'ip-family')]: address.includes(':') ? 'IPv6' : 'IPv4', [key]: value};
};

/** Whether the server holds the address by itself, not somebody for ends of his own. */
export const isManagedAddress = (naming: Naming, {metadata}: {readonly metadata?: {readonly labels?: Readonly<Record<string, string>>}}): boolean => {
  const [key, value] = managedBy(naming);
  return metadata?.labels?.[key] === value;
};
