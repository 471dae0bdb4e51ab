import type {Frozen} from '#src/api/key.js';
import type {kinds, ObjectOf} from '#src/api/kinds.js';
import {parseTime} from '#src/api/time.js';
import {parseIp, parseRange, type IpAddress, type IpRange} from '#src/base/ip-address.js';
import {rangesOverlap, rangeWithin, servesAddress} from '#src/model/service-range.js';

export type ServiceCIDR = ObjectOf<typeof kinds.serviceCIDRs>;
export type IPAddress = ObjectOf<typeof kinds.ipAddresses>;
type Cached = Frozen<ServiceCIDR>;

export const rangesOf = ({spec}: Cached): IpRange[] => (spec?.cidrs ?? []).flatMap(text => parseRange(text) ?? []);

export const overlap = (one: Cached, other: Cached): boolean => rangesOf(one).some(range => rangesOf(other).some(second => rangesOverlap(range, second)));

/** Whether services may have the address from there. */
export const serves = (object: Cached, address: IpAddress): boolean => rangesOf(object).some(range => servesAddress(range, address));

/** The address that an object holds; its name is the address. */
export const addressOf = ({metadata}: Frozen<IPAddress>): IpAddress | undefined => parseIp(metadata?.name ?? '');

/** When an object was deleted; never is later than ever. */
const endOf = ({metadata}: Cached): number => parseTime(metadata?.deletionTimestamp) ?? Infinity;

/** Whether `other` is another object that will be there when `own` has gone: of two that are going the one that was deleted later, or is named later. */
export const outlives = (other: Cached, own: Cached): boolean => {
  const [name, ownName] = [other.metadata?.name ?? '', own.metadata?.name ?? ''];
  return name !== ownName && (endOf(other) > endOf(own) || (endOf(other) === endOf(own) && name > ownName));
};

/**
 * Whether a ServiceCIDR can go without leaving an address of a service outside of all ranges: each of its ranges lies within that of another, or no address
 * is served by it alone. `addresses` are those that services of one family hold.
 */
export const mayGo = (own: Cached, all: readonly Cached[], addresses: (family: 4 | 6) => readonly Frozen<IPAddress>[]): boolean => {
  const others = all.filter(other => outlives(other, own));
  const ranges = rangesOf(own);
  const hasHome = (range: IpRange): boolean => others.some(other => rangesOf(other).some(outer => rangeWithin(range, outer)));
  if (ranges.every(hasHome)) return true;
  return !ranges.some(range =>
    addresses(range.address.family).some(object => {
      const address = addressOf(object);
      return address !== undefined && servesAddress(range, address) && !others.some(other => serves(other, address));
    }),
  );
};
