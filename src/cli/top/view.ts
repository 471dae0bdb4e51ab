// What is shown: a reading with its rates, as a person or a program has chosen to see it.

import {requestRates, type RequestCounts, type RequestRates} from '#src/observe/request-rates.js';
import type {Part, Reading} from './reading.js';

export const sortOrders = ['queue', 'work', 'retries', 'name'] as const;
/** By what controllers are sorted. */
export type SortOrder = (typeof sortOrders)[number];

export interface View {
  readonly server: string;
  /** The wall time of the reading. */
  readonly now: number;
  readonly reading: Reading;
  /** Undefined before the second reading. */
  readonly rates: RequestRates | undefined;
  readonly sort: SortOrder;
  readonly isPaused: boolean;
}

/** Returns the rates between two readings; undefined unless both have counted requests. */
export const ratesOf = (now: Part<RequestCounts>, before: Part<RequestCounts> | undefined): RequestRates | undefined =>
  before && 'value' in before && 'value' in now ? requestRates(now.value, before.value) : undefined;

const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);
const iso = (ms: number): string => new Date(ms).toISOString();

/** Returns a view as one object for programs: what could not be read is null, and `missing` says why. */
export const jsonOf = ({server, now, reading, rates}: View): object => {
  const {version, nodes, pods, requests, controllers, events} = reading;
  const valueOf = <T, R>(part: Part<T>, as: (value: T) => R): R | null => ('value' in part ? as(part.value) : null);
  const entries = Object.entries(reading) as [string, Part<unknown>][];
  return {
    time: iso(now),
    server,
    version: valueOf(version, text => text),
    nodes: valueOf(nodes, Object.fromEntries),
    pods: valueOf(pods, Object.fromEntries),
    requests: valueOf(requests, ({inflight, watches}) => ({
      readsPerSecond: rates ? rates.reads : null,
      writesPerSecond: rates ? rates.writes : null,
      refusedPerSecond: rates ? rates.refused : null,
      p99Seconds: rates ? finite(rates.latencyMost) : null,
      inFlight: inflight,
      watches,
    })),
    controllers: valueOf(controllers, all =>
      all.map(({name, depth, adds, retries, errors, waits, works, worksMost}) => ({
        name,
        queueDepth: depth,
        added: adds,
        retries,
        errors,
        waitP50Seconds: finite(waits),
        workP50Seconds: finite(works),
        workP99Seconds: finite(worksMost),
      })),
    ),
    events: valueOf(events, all => all.map(({at, ...event}) => ({lastSeen: at === 0 ? null : iso(at), ...event}))),
    missing: Object.fromEntries(entries.flatMap(([name, part]) => ('missing' in part ? [[name, part.missing]] : []))),
  };
};
