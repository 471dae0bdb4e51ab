import type {Index, Lister} from '#informers/lister.js';
import type {Frozen} from '#src/api/key.js';
import {addressBits, rangeStart, type IpAddress, type IpRange} from '#src/base/ip-address.js';
import {isServiceAddress} from '#src/model/service-range.js';
import {rangesOf, type ServiceCIDR} from './ranges.js';

/** Ranges that are being deleted, under the empty value. */
export const deletedRanges: Index<ServiceCIDR> = {name: 'leaving', values: ({metadata}) => (metadata?.deletionTimestamp ? [''] : [])};

const spanText = (range: IpRange): string => `${range.address.family} ${rangeStart(range).value}/${range.bits}`;

/** Ranges that are being deleted, by CIDR. */
const deletedBySpan: Index<ServiceCIDR> = {
  name: 'leaving, by span',
  values: object => (object.metadata?.deletionTimestamp ? rangesOf(object).map(spanText) : []),
};

const spansAround = (address: IpAddress): IpRange[] => Array.from({length: addressBits(address) + 1}, (_, bits) => ({address, bits}));

/** Returns the ranges being deleted that may serve an address. */
export const deletedRangesAround = (objects: Lister<ServiceCIDR>, address: IpAddress): readonly Frozen<ServiceCIDR>[] => {
  if (objects.count(deletedRanges, '') === 0) return [];
  const found = spansAround(address)
    .filter(range => isServiceAddress(range, address))
    .flatMap(range => objects.by(deletedBySpan, spanText(range)));
  return [...new Set(found)];
};
