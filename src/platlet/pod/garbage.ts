// Garbage collection of exited containers and sandboxes in the runtime.

import type {ContainerInstance, RuntimePod} from '#src/platlet/runtime/state.js';
import {newestSandbox} from './sandbox.js';

export interface GarbageLimits {
  /** The minimum age of an exited container. */
  readonly minAgeMs: number;
  /** The maximum number of exited runs per container; negative is no limit. */
  readonly maxPerContainer: number;
  /** The maximum number of exited runs on the node; negative is no limit. */
  readonly maxContainers: number;
}

/** What the agent knows of a pod: it still exists, or it is gone and its runs may all be removed. */
export type Usefulness = 'present' | 'gone';

export interface Garbage {
  readonly containers: readonly ContainerInstance[];
  readonly sandboxes: readonly string[];
}

const isOld = ({createdAt}: ContainerInstance, {minAgeMs}: Pick<GarbageLimits, 'minAgeMs'>, now: number): boolean =>
  now - createdAt >= minAgeMs;

const newestFirst = (a: ContainerInstance, b: ContainerInstance): number => b.createdAt - a.createdAt || b.attempt - a.attempt;

/**
 * Returns the exited runs of a pod's containers that go as soon as others have ended: of each container those that
 * exceed the limit, whatever their age. The last one stays in any case, for its status and its log.
 */
export const superseded = (pod: RuntimePod, {maxPerContainer}: Pick<GarbageLimits, 'maxPerContainer'>): readonly ContainerInstance[] =>
  excessOf(pod, {minAgeMs: 0, maxPerContainer: maxPerContainer < 0 ? -1 : Math.max(maxPerContainer, 1)}, Infinity).excess;

/** Returns the exited runs beyond the limit per container, and those that remain. */
const excessOf = (
  pod: RuntimePod,
  limits: Pick<GarbageLimits, 'minAgeMs' | 'maxPerContainer'>,
  now: number,
): {readonly excess: ContainerInstance[]; readonly kept: ContainerInstance[]} => {
  const excess: ContainerInstance[] = [];
  const kept: ContainerInstance[] = [];
  const counts = new Map<string, number>();
  const ended = pod.containers.filter(instance => instance.state !== 'running' && isOld(instance, limits, now)).sort(newestFirst);
  for (const instance of ended) {
    const count = (counts.get(instance.name) ?? 0) + 1;
    counts.set(instance.name, count);
    (limits.maxPerContainer >= 0 && count > limits.maxPerContainer ? excess : kept).push(instance);
  }
  return {excess, kept};
};

/** Returns what exceeds the limit of the node: containers keep equal numbers of runs, and then the oldest go. */
const beyondCap = (kept: readonly ContainerInstance[], maxContainers: number): readonly ContainerInstance[] => {
  if (maxContainers < 0 || kept.length <= maxContainers) return [];
  const runs = new Map<string, ContainerInstance[]>();
  for (const instance of [...kept].sort(newestFirst)) {
    const key = `${instance.pod.uid}/${instance.name}`;
    runs.set(key, [...(runs.get(key) ?? []), instance]);
  }
  const share = Math.max(1, Math.floor(maxContainers / runs.size));
  const shared = [...runs.values()].flatMap(own => own.slice(0, share));
  const stay = new Set(shared.sort(newestFirst).slice(0, maxContainers));
  return kept.filter(instance => !stay.has(instance));
};

/** Returns the runs and sandboxes to remove. Newer runs are kept rather than older ones. */
export const garbageOf = (pods: readonly RuntimePod[], of: (uid: string) => Usefulness, limits: GarbageLimits, now: number): Garbage => {
  const removed: ContainerInstance[] = [];
  const kept: ContainerInstance[] = [];
  for (const pod of pods) {
    if (of(pod.pod.uid) === 'gone') {
      removed.push(...pod.containers.filter(instance => instance.state !== 'running' && isOld(instance, limits, now)));
      continue;
    }
    const own = excessOf(pod, limits, now);
    removed.push(...own.excess);
    kept.push(...own.kept);
  }
  removed.push(...beyondCap(kept, limits.maxContainers));
  const gone = new Set(removed.map(({id}) => id));
  return {containers: [...new Set(removed)], sandboxes: pods.flatMap(pod => uselessSandboxes(pod, of(pod.pod.uid), gone))};
};

/** A sandbox is removed once it is stopped and empty, except the newest of an existing pod. */
const uselessSandboxes = (pod: RuntimePod, usefulness: Usefulness, gone: ReadonlySet<string>): string[] => {
  const newest = newestSandbox(pod);
  return pod.sandboxes
    .filter(
      ({id, isReady}) =>
        !isReady &&
        (usefulness === 'gone' || id !== newest?.id) &&
        !pod.containers.some(instance => instance.sandbox === id && !gone.has(instance.id)),
    )
    .map(({id}) => id);
};
