// What is cleaned up regularly: pods that no source has, and containers that have ended.

import {runEvery, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {garbageOf, type GarbageLimits} from '#src/platlet/pod/garbage.js';
import type {PodPorts} from '#src/platlet/pod/ports.js';
import type {Runtime} from '#src/platlet/runtime/runtime.js';
import type {RuntimePod} from '#src/platlet/runtime/state.js';
import type {PodDirectory} from './pod-directory.js';
import type {PodWorkers} from './pod-workers.js';

const cleanMs = 2_000;
const collectMs = 60_000;

export interface HousekeepingParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly runtime: Pick<Runtime, 'pods' | 'removeContainer' | 'removeSandbox'>;
  /** Before every source has delivered nothing is cleaned up. */
  readonly directory: PodDirectory;
  readonly workers: PodWorkers;
  /** What is left on the node of pods that are gone is removed. */
  readonly ports: Pick<PodPorts, 'volumes' | 'cgroups' | 'output'>;
  readonly limits: GarbageLimits;
}

/** Whether anything of a pod runs or holds resources. */
const isAlive = ({sandboxes, containers}: RuntimePod): boolean =>
  sandboxes.some(({isReady}) => isReady) || containers.some(({state}) => state === 'running');

/** Ends pods that no source has, and forgets what has ended. */
const clean = ({workers, directory: {sources, statuses, working, listed}}: HousekeepingParts): void => {
  if (!sources.isReady) return;
  const isKnown = (uid: string): boolean => sources.isKnown(uid);
  workers.sweep(isKnown);
  for (const pod of listed) if (!isKnown(pod.pod.uid) && isAlive(pod)) workers.orphan(pod);
  statuses.sweep(uid => isKnown(uid) || working.get(uid) !== undefined);
};

/**
 * Removes what is left on the node of pods that are gone: volumes first, since a cgroup may hold processes that use
 * them.
 */
const sweep = async ({directory: {sources, working, listed}, ports: {volumes, cgroups}}: HousekeepingParts): Promise<void> => {
  if (!sources.isReady) return;
  const alive = new Set(listed.flatMap(pod => (isAlive(pod) ? pod.pod.uid : [])));
  const isKnown = (uid: string): boolean => alive.has(uid) || sources.isKnown(uid) || working.get(uid) !== undefined;
  await volumes.sweep?.(isKnown);
  await cgroups.sweep?.(isKnown);
};

/** Removes ended containers and sandboxes that are of no use. */
const collect = async ({runtime, directory: {sources, working}, ports: {output}, limits, clock}: HousekeepingParts): Promise<void> => {
  if (!sources.isReady) return;
  const usefulness = (uid: string) => (sources.isKnown(uid) || working.get(uid) ? 'present' : 'gone');
  const {containers, sandboxes} = garbageOf(await runtime.pods(), usefulness, limits, clock.now());
  for (const id of containers) await runtime.removeContainer(id);
  for (const id of sandboxes) await runtime.removeSandbox(id);
  await output.sweep?.(uid => usefulness(uid) === 'present');
};

/** Cleans up until the signal aborts. */
export const keepHouse = (parts: HousekeepingParts): void => {
  const {clock, signal, log} = parts;
  runEvery(clock, cleanMs, signal, () => {
    clean(parts);
    return sweep(parts).catch((error: unknown) => log.warn({err: error}, 'what pods left could not be removed'));
  });
  runEvery(clock, collectMs, signal, () =>
    collect(parts).catch((error: unknown) => log.warn({err: error}, 'ended containers could not be removed')),
  );
};
