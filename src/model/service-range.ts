import type {Naming} from '#src/api/naming.js';
import {rangeHolds, rangeSize, rangeStart, type IpAddress, type IpRange} from '#src/base/ip-address.js';

/** The range of usable service IPs as integers. */
export interface ServiceAddresses {
  readonly first: bigint;
  readonly count: bigint;
}

/** Returns the usable addresses of a range: without the network address and, for IPv4, the broadcast address. */
export const serviceAddresses = (range: IpRange): ServiceAddresses => {
  const size = rangeSize(range);
  return {first: rangeStart(range).value + 1n, count: size > 2n ? size - (range.address.family === 4 ? 2n : 1n) : 0n};
};

/** Whether an address of a range can be a service IP. */
export const isServiceAddress = (range: IpRange, address: IpAddress): boolean => {
  const {first, count} = serviceAddresses(range);
  return rangeHolds(range, address) && address.value >= first && address.value < first + count;
};

/** Whether one range contains the other. */
export const rangeWithin = (inner: IpRange, outer: IpRange): boolean => outer.bits <= inner.bits && rangeHolds(outer, inner.address);

export const rangesOverlap = (one: IpRange, other: IpRange): boolean => rangeWithin(one, other) || rangeWithin(other, one);

const managedBy = (naming: Naming): readonly [key: string, value: string] => [
  naming.subKey('ipaddress', 'managed-by'),
  `ipallocator.${naming.apiSuffix}`,
];

/** Returns the labels of an IPAddress object that the allocator manages. */
export const addressLabels = (naming: Naming, address: string): Record<string, string> => {
  const [key, value] = managedBy(naming);
  return {[naming.subKey('ipaddress', 'ip-family')]: address.includes(':') ? 'IPv6' : 'IPv4', [key]: value};
};

/** Whether the IPAddress is managed by the allocator and was not created by a user. */
export const isManagedAddress = (
  naming: Naming,
  {metadata}: {readonly metadata?: {readonly labels?: Readonly<Record<string, string>>}},
): boolean => {
  const [key, value] = managedBy(naming);
  return metadata?.labels?.[key] === value;
};
