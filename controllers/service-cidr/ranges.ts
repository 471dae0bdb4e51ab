import type {Frozen} from '#src/api/key.js';
import type {kinds, ObjectOf} from '#src/api/kinds.js';
import {parseTime} from '#src/api/time.js';
import {parseIp, parseRange, type IpAddress, type IpRange} from '#src/base/ip-address.js';
import {rangesOverlap, isServiceAddress} from '#src/model/service-range.js';
import {RangeSet} from './range-set.js';

export type ServiceCIDR = ObjectOf<typeof kinds.serviceCIDRs>;
export type IPAddress = ObjectOf<typeof kinds.ipAddresses>;
type Cached = Frozen<ServiceCIDR>;

/** Ranges as they were read, once for each state of an object. */
const read = new WeakMap<Cached, readonly IpRange[]>();

export const rangesOf = (object: Cached): readonly IpRange[] => {
  let ranges = read.get(object);
  if (!ranges) read.set(object, (ranges = (object.spec?.cidrs ?? []).flatMap(text => parseRange(text) ?? [])));
  return ranges;
};

export const overlap = (one: Cached, other: Cached): boolean => rangesOf(one).some(range => rangesOf(other).some(second => rangesOverlap(range, second)));

/** The address that an object holds; its name is the address. */
export const addressOf = ({metadata}: Frozen<IPAddress>): IpAddress | undefined => parseIp(metadata?.name ?? '');

/** When an object was deleted; never is later than ever. */
const endOf = ({metadata}: Cached): number => parseTime(metadata?.deletionTimestamp) ?? Infinity;

/** Whether `other` is another object that will be there when `own` has gone: of two that are going the one that was deleted later, or is named later. */
const outlives = (other: Cached, own: Cached): boolean => {
  const [name, ownName] = [other.metadata?.name ?? '', own.metadata?.name ?? ''];
  return name !== ownName && (endOf(other) > endOf(own) || (endOf(other) === endOf(own) && name > ownName));
};

/**
 * Whether a ServiceCIDR can go without leaving an address of a service outside of all ranges: each of its ranges lies within that of another, or no address
 * is served by it alone. `addresses` are those that services of one family hold.
 */
export const canDelete = (own: Cached, all: readonly Cached[], addresses: (family: 4 | 6) => readonly Frozen<IPAddress>[]): boolean => {
  const others = new RangeSet();
  for (const other of all) if (outlives(other, own)) for (const range of rangesOf(other)) others.add(range);
  const ranges = rangesOf(own);
  if (ranges.every(range => others.surrounds(range))) return true;
  return !ranges.some(range =>
    addresses(range.address.family).some(object => {
      const address = addressOf(object);
      return address !== undefined && isServiceAddress(range, address) && !others.serves(address);
    }),
  );
};
