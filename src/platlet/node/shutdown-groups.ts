// Which pods end together when the machine shuts down, and how long they may take.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';

/** The time of pods that have at least a priority. */
export interface PriorityPeriod {
  readonly priority: number;
  readonly seconds: number;
}

/** Pods that end together. */
export interface ShutdownGroup extends PriorityPeriod {
  readonly pods: readonly Frozen<Pod>[];
}

/** What the status of a pod that is ended says. */
export const shutdownReason = 'Terminated';
export const shutdownMessage = 'Pod was terminated in response to imminent node shutdown.';

const defaultPriority = 0;
const systemCriticalPriority = 2_000_000_000;

/** Returns the periods of normal and of critical pods, of a total of which the latter have a part; both in ms. */
export const periodsOfTotal = (totalMs: number, criticalMs: number): readonly PriorityPeriod[] => {
  const normalMs = totalMs - criticalMs;
  if (totalMs === 0 || normalMs < 0) return [];
  return [
    {priority: defaultPriority, seconds: Math.trunc(normalMs / 1000)},
    {priority: systemCriticalPriority, seconds: Math.trunc(criticalMs / 1000)},
  ];
};

/** Returns the pods by the periods that they belong to: that of the highest priority which is not above theirs. */
export const groupsOf = (periods: readonly PriorityPeriod[], pods: readonly Frozen<Pod>[]): readonly ShutdownGroup[] => {
  const indexOf = ({spec}: Frozen<Pod>): number =>
    Math.max(
      0,
      periods.findLastIndex(({priority}) => priority <= (spec?.priority ?? 0)),
    );
  return periods.map((period, index) => ({...period, pods: pods.filter(pod => indexOf(pod) === index)}));
};

/** Returns the time that a pod of a group has, in seconds: its own where that is shorter. */
export const graceOf = ({spec}: Frozen<Pod>, {seconds}: PriorityPeriod): number =>
  Math.min(spec?.terminationGracePeriodSeconds ?? seconds, seconds);
