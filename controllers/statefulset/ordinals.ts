// Ordinals of a set and the pods that occupy them.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {isUnavailable, type StatefulSet} from './kinds.js';

const numbered = /^(.*)-([0-9]+)$/;
const largest = 2 ** 31 - 1;

/** Returns the set name in a pod's name; empty for a name without an ordinal. */
export const setNameOf = (pod: string): string => numbered.exec(pod)?.[1] ?? '';

/** Returns the ordinal in a pod's name; undefined for a name without a valid one. */
export const ordinalOf = (pod: string): number | undefined => {
  const text = numbered.exec(pod)?.[2];
  const ordinal = Number(text);
  return text !== undefined && ordinal <= largest && String(ordinal) === text ? ordinal : undefined;
};

export const firstOrdinal = ({spec}: StatefulSet): number => spec?.ordinals?.start ?? 0;

export const sizeOf = ({spec}: StatefulSet): number => spec?.replicas ?? 1;

export const isInRange = (ordinal: number, set: StatefulSet): boolean =>
  ordinal >= firstOrdinal(set) && ordinal < firstOrdinal(set) + sizeOf(set);

export const podNameAt = (set: StatefulSet, ordinal: number): string => `${set.metadata?.name}-${ordinal}`;

/** An ordinal of the set, with its pod. */
export interface Slot {
  readonly ordinal: number;
  readonly pod: Frozen<Pod> | undefined;
}

/** An ordinal with a pod. */
export interface OccupiedSlot extends Slot {
  readonly pod: Frozen<Pod>;
}

export interface PodSlots {
  /** All ordinals that the set requests, ascending. */
  readonly replicas: readonly Slot[];
  /** Pods beyond, descending. */
  readonly condemned: readonly OccupiedSlot[];
  /**
   * The first unavailable pod, of the replicas and then of the condemned; undefined if the first such slot is empty, or
   * all pods are available.
   */
  readonly firstUnavailable: Frozen<Pod> | undefined;
}

/** Returns the pods of a set by ordinal. Pods without a valid ordinal are left out. */
export const podSlotsOf = (set: StatefulSet, pods: readonly Frozen<Pod>[], now: number): PodSlots => {
  const withOrdinals = pods.flatMap((pod): OccupiedSlot[] => {
    const ordinal = ordinalOf(pod.metadata?.name ?? '');
    return ordinal === undefined ? [] : [{ordinal, pod}];
  });
  const byOrdinal = new Map(withOrdinals.map(({ordinal, pod}) => [ordinal, pod]));
  const start = firstOrdinal(set);
  const replicas = Array.from({length: sizeOf(set)}, (_, index): Slot => ({ordinal: start + index, pod: byOrdinal.get(start + index)}));
  const condemned = withOrdinals.filter(({ordinal}) => !isInRange(ordinal, set)).sort((a, b) => b.ordinal - a.ordinal);
  const firstUnavailable = [...replicas, ...condemned.toReversed()].find(({pod}) => isUnavailable(pod, set, now))?.pod;
  return {replicas, condemned, firstUnavailable};
};
