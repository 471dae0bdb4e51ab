// Which pressures a node is under, and which thresholds pods are to be evicted for, from one look to the next.

import {signals, type Observations, type Pressure} from './signals.js';
import {isMet, type Threshold} from './thresholds.js';

/** What is kept from one look to the next. */
export interface PressureState {
  /** Since when each threshold is met. */
  readonly firstMet: ReadonlyMap<Threshold, number>;
  /** The thresholds whose grace had run: they stay met until enough was reclaimed. */
  readonly due: readonly Threshold[];
  /** When each pressure was there last. */
  readonly lastSeen: ReadonlyMap<Pressure, number>;
  readonly observations: Observations;
}

export const noPressure: PressureState = {firstMet: new Map(), due: [], lastSeen: new Map(), observations: new Map()};

export interface PressureRules {
  readonly thresholds: readonly Threshold[];
  /** How long a pressure is reported after it was there last. */
  readonly transitionMs: number;
}

export interface Judgement {
  readonly state: PressureState;
  readonly pressures: readonly Pressure[];
  /** The thresholds to evict pods for now, those of memory first. */
  readonly actionable: readonly Threshold[];
}

/** Returns the thresholds that are met. Those whose signal was not observed are not. */
export const metThresholds = (thresholds: readonly Threshold[], observations: Observations, withReclaim: boolean): readonly Threshold[] =>
  thresholds.filter(threshold => {
    const observation = observations.get(threshold.signal);
    return observation !== undefined && isMet(threshold, observation, withReclaim);
  });

/** Whether a signal was measured anew: what was evicted for an old measurement may have helped already. */
const isNew = (threshold: Threshold, observations: Observations, before: Observations): boolean => {
  const observation = observations.get(threshold.signal);
  const last = before.get(threshold.signal);
  return observation !== undefined && (last === undefined || observation.at > last.at);
};

const isMemory = ({signal}: Threshold): boolean => signals[signal].resource === 'memory';

/** Judges observations by the rules, and by what was before. */
export const judge = (
  before: PressureState,
  {thresholds, transitionMs}: PressureRules,
  observations: Observations,
  now: number,
): Judgement => {
  const met = new Set([...metThresholds(thresholds, observations, false), ...metThresholds(before.due, observations, true)]);
  const firstMet = new Map([...met].map(threshold => [threshold, before.firstMet.get(threshold) ?? now]));
  const lastSeen = new Map(before.lastSeen);
  for (const {signal} of met) lastSeen.set(signals[signal].condition, now);
  const due = [...firstMet].filter(([{graceMs}, since]) => now - since >= graceMs).map(([threshold]) => threshold);
  const actionable = due.filter(threshold => isNew(threshold, observations, before.observations));
  return {
    state: {firstMet, due, lastSeen, observations},
    pressures: [...lastSeen].filter(([, at]) => now - at < transitionMs).map(([pressure]) => pressure),
    actionable: [...actionable.filter(isMemory), ...actionable.filter(threshold => !isMemory(threshold))],
  };
};
