// Estimates the seats of a request before it is executed: lists and the initial state of watches by the stored objects,
// writes by the watches that get their events. All others occupy one seat.

import type {RequestInfo} from '#src/apiserver/request/request-info.js';
import {truthy} from '#src/apiserver/request/request-info.js';
import type {FlowMeters} from '#src/apiserver/flowcontrol/fair-queuing/flow-meters.js';
import type {WatchCounts} from './watch-counts.js';
import {workOf, type Work} from '#src/apiserver/flowcontrol/fair-queuing/queue.js';

/** The stored objects of a resource. */
export interface StoredObjects {
  readonly count: number;
  readonly averageBytes: number;
}

/** The sources of estimates. */
export interface EstimateParts {
  /** Returns undefined for what is not stored here. */
  storedObjects(info: RequestInfo): StoredObjects | undefined;
  readonly watches: WatchCounts;
  gate(name: string): boolean;
}

/** Estimates the work of a request; `maxSeats` is the limit of its level. */
export type EstimateWork = (info: RequestInfo, maxSeats: number | undefined, meters: FlowMeters) => Work;

const one = workOf(1);
const maxSeatsOfWrites = 10;
const maxSeatsOfLists = {byCount: 10, bySize: 100};
const objectsPerSeat = 100;
const bytesPerSeat = 100_000;
/** What is assumed of objects whose size is unknown. */
const largestObjectBytes = 1_500_000;
/** A list from the cache is streamed, whatever its size. */
const streamedBytes = 1_000_000;
const watchesPerSeat = 10;
/** How long the watches of one seat take for an event. */
const eventMs = 5;

/** What a list asks for. */
interface ListQuery {
  readonly limit: number;
  readonly selects: boolean;
  readonly isCached: boolean;
  /** Whether it names one object. */
  readonly isSingle: boolean;
}

/**
 * Whether a list is served from the cache (KEP-3157 and KEP-2340): others need an exact version, which only the store
 * has.
 */
const isFromCache = (query: URLSearchParams, limit: number): boolean => {
  const [version, match] = [query.get('resourceVersion') ?? '', query.get('resourceVersionMatch') ?? ''];
  if (match === 'NotOlderThan') return true;
  return match === '' && !query.get('continue') && !(limit > 0 && version !== '' && version !== '0');
};

const queryOf = ({verb, query, resource}: RequestInfo): ListQuery => {
  const limit = Number(query.get('limit') ?? 0) || 0;
  return {
    limit,
    selects: Boolean(query.get('fieldSelector') || query.get('labelSelector')),
    isCached: verb === 'watch' || isFromCache(query, limit),
    isSingle: Boolean(resource?.name),
  };
};

const seatsByCount = ({count}: StoredObjects, {limit, selects, isCached, isSingle}: ListQuery): number => {
  const returned = limit > 0 ? Math.min(limit, count) : count;
  const processed = isSingle ? 1 : isCached ? count : selects ? count + returned : 2 * returned;
  return Math.ceil(processed / objectsPerSeat);
};

const seatsBySize = ({count, averageBytes}: StoredObjects, {limit, selects, isCached, isSingle}: ListQuery): number => {
  const size = averageBytes > 0 || count === 0 ? averageBytes : largestObjectBytes;
  const returned = limit > 0 ? Math.min(limit, count) : count;
  const loaded = isSingle ? 1 : !isCached && selects ? Math.max(returned, Math.floor(count / 2)) : returned;
  return Math.ceil((isCached ? Math.min(loaded * size, streamedBytes) : loaded * size) / bytesPerSeat);
};

/** Whether a watch begins with the existing objects. */
const startsWithList = ({query}: RequestInfo): boolean => {
  const version = query.get('resourceVersion') ?? '';
  return version === '' || version === '0' || truthy(query.get('sendInitialEvents'));
};

/** Returns a function that estimates the work of requests. */
export const workEstimator = ({storedObjects, watches, gate}: EstimateParts): EstimateWork => {
  const bySize = gate('SizeBasedListCostEstimate');
  const countsWatches = gate('WatchList');
  const ofList = (info: RequestInfo, maxSeats: number | undefined): Work => {
    if (info.verb === 'watch' && !startsWithList(info)) return one;
    const stored = storedObjects(info);
    if (!stored) return one;
    const seats = (bySize ? seatsBySize : seatsByCount)(stored, queryOf(info));
    const most = bySize ? maxSeatsOfLists.bySize : maxSeatsOfLists.byCount;
    const width = Math.max(1, Math.min(seats, maxSeats ?? most, most));
    return width === 1 ? one : workOf(width);
  };
  const ofWrite = (info: RequestInfo, maxSeats: number | undefined, meters: FlowMeters): Work => {
    const {resource} = info;
    // A token causes no event.
    if (resource?.resource === 'serviceaccounts' && resource.subresource === 'token') return one;
    const count = watches.interestedIn(info);
    meters.watchCount.observe(count);
    if (count < watchesPerSeat) return one;
    const seats = Math.ceil(count / watchesPerSeat);
    const finalSeats = Math.max(1, Math.min(seats, maxSeats ?? maxSeatsOfWrites, maxSeatsOfWrites));
    return {initialSeats: 1, finalSeats, additionalLatencyMs: (seats * eventMs) / finalSeats};
  };
  return (info, maxSeats, meters) => {
    switch (info.verb) {
      case 'get':
        return one;
      case 'list':
        return ofList(info, maxSeats);
      case 'watch':
        return countsWatches ? ofList(info, maxSeats) : one;
      case 'create':
      case 'update':
      case 'patch':
      case 'delete':
        return ofWrite(info, maxSeats, meters);
      default:
        return one;
    }
  };
};
