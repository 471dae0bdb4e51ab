import type {Frozen} from '#src/api/key.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import {parseTime} from '#src/api/time.js';
import {parseIp, parseRange, type IpAddress, type IpRange} from '#src/base/ip-address.js';
import {rangesOverlap, isServiceAddress} from '#src/model/service-range.js';
import {RangeSet} from './range-set.js';

export type ServiceCIDR = ObjectOf<typeof kinds.serviceCIDRs>;
export type IPAddress = ObjectOf<typeof kinds.ipAddresses>;
type Cached = Frozen<ServiceCIDR>;

/** Parsed ranges, cached per object version. */
const read = new WeakMap<Cached, readonly IpRange[]>();

export const rangesOf = (object: Cached): readonly IpRange[] => {
  let ranges = read.get(object);
  if (!ranges) read.set(object, (ranges = (object.spec?.cidrs ?? []).flatMap(text => parseRange(text) ?? [])));
  return ranges;
};

export const overlap = (one: Cached, other: Cached): boolean =>
  rangesOf(one).some(range => rangesOf(other).some(second => rangesOverlap(range, second)));

/** Returns the address of an object, which is its name. */
export const addressOf = ({metadata}: Frozen<IPAddress>): IpAddress | undefined => parseIp(metadata?.name ?? '');

/** Returns when an object was deleted; Infinity if it was not. */
const endOf = ({metadata}: Cached): number => parseTime(metadata?.deletionTimestamp) ?? Infinity;

/**
 * Whether `other` is another object that remains after `own` is deleted: of two deleted ones the one that was deleted
 * later, or is later by name.
 */
const outlives = (other: Cached, own: Cached): boolean => {
  const [name, ownName] = [other.metadata?.name ?? '', own.metadata?.name ?? ''];
  return name !== ownName && (endOf(other) > endOf(own) || (endOf(other) === endOf(own) && name > ownName));
};

/**
 * Whether a ServiceCIDR can be deleted without orphaning a service address: each of its ranges is contained in that of
 * another, or no address is served by it alone. `addresses` returns the allocated addresses of a family.
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
