import {noLog, type Log} from '#src/base/log.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import {FlowControl} from './flow-control.js';
import {InFlight, RequestCounts, type InFlightLimits} from './in-flight.js';
import {StoredObjectCounts} from './stored-objects.js';
import type {WatchCounts} from './watch-counts.js';
import {workEstimator} from './work-estimate.js';

export interface LimitSettings {
  readonly registry: Registry;
  readonly requestTimeoutMs: number;
  readonly maxInFlight: InFlightLimits;
  /** The seats that priority and fairness divides; without it `maxInFlight` alone limits requests. */
  readonly flowControl?: {readonly seats: number} | undefined;
  /** The log of requests, if enabled. */
  readonly log?: Log;
}

/** What limits the requests that are executed at the same time. */
export interface Limits {
  readonly inFlight: InFlight;
  readonly flowControl: FlowControl | undefined;
}

/** What limits the requests that are executed at the same time. */
export const limitsOf = (
  {registry, flowControl, maxInFlight, requestTimeoutMs, log = noLog}: LimitSettings,
  watches: WatchCounts,
): Limits => {
  const {naming, clock, meter, gate} = registry.settings;
  const counts = new RequestCounts(meter, clock);
  const inFlight = new InFlight(maxInFlight, {counts, clock});
  if (!flowControl) return {inFlight, flowControl: undefined};
  const stored = new StoredObjectCounts(registry, clock);
  const estimate = workEstimator({storedObjects: info => stored.of(info), watches, gate});
  const {seats} = flowControl;
  const parts = {naming, clock, meter, log: log.child({component: 'flow-control'}), seats, requestTimeoutMs, estimate, counts, inFlight};
  return {inFlight, flowControl: new FlowControl(parts)};
};
