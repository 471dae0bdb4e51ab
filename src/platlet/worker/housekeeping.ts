// Periodic cleanup: pods without a source, and exited containers.

import {runEvery, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {garbageOf, type GarbageLimits, type Usefulness} from '#src/platlet/pod/garbage.js';
import type {Runtime} from '#src/platlet/runtime/runtime.js';
import {isAlive} from '#src/platlet/runtime/state.js';
import type {WorkerPorts} from './parts.js';
import type {PodDirectory} from './pod-directory.js';
import {removeRun} from './remove-run.js';
import type {PodWorkers} from './pod-workers.js';

const cleanMs = 2_000;
const collectMs = 60_000;

export interface HousekeepingParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly runtime: Pick<Runtime, 'pods' | 'removeContainer' | 'removeSandbox'>;
  /** Nothing is cleaned up before every source has delivered. */
  readonly directory: PodDirectory;
  readonly workers: PodWorkers;
  /** Removes what deleted pods have left on the node. */
  readonly ports: Pick<WorkerPorts, 'volumes' | 'cgroups' | 'output' | 'resizes'>;
  readonly limits: GarbageLimits;
}

/** Terminates pods without a source, and forgets finished ones. */
const clean = ({workers, directory: {sources, statuses, working, listed}, ports: {resizes}}: HousekeepingParts): void => {
  if (!sources.isReady) return;
  const isKnown = (uid: string): boolean => sources.isKnown(uid);
  workers.sweep(isKnown);
  for (const pod of listed) if (!isKnown(pod.pod.uid) && isAlive(pod)) workers.orphan(pod);
  const isAround = (uid: string): boolean => isKnown(uid) || working.get(uid) !== undefined;
  statuses.sweep(isAround);
  resizes.sweep(isAround);
};

/**
 * Removes what deleted pods have left on the node: volumes first, since a cgroup may contain processes that use them.
 */
const sweep = async ({directory: {sources, working, listed}, ports: {volumes, cgroups}}: HousekeepingParts): Promise<void> => {
  if (!sources.isReady) return;
  const alive = new Set(listed.flatMap(pod => (isAlive(pod) ? pod.pod.uid : [])));
  const isKnown = (uid: string): boolean => alive.has(uid) || sources.isKnown(uid) || working.get(uid) !== undefined;
  await volumes.sweep?.(isKnown);
  await cgroups.sweep?.(isKnown);
};

/** Whether the exited containers of a pod are kept within the limits. `keepsEnded`: also those of terminated pods. */
const usefulnessOf = ({sources, working}: PodDirectory, uid: string, keepsEnded: boolean): Usefulness => {
  const worker = working.get(uid);
  if (!worker) return sources.isKnown(uid) ? 'present' : 'gone';
  if (worker.isEvicted) return 'gone';
  return keepsEnded || (worker.stage !== 'terminated' && worker.stage !== 'finished') ? 'present' : 'gone';
};

/** Removes exited containers and sandboxes. */
const collect = async ({runtime, directory, ports: {output}, limits, clock}: HousekeepingParts, keepsEnded: boolean): Promise<void> => {
  const {sources, working} = directory;
  if (!sources.isReady) return;
  const {containers, sandboxes} = garbageOf(await runtime.pods(), uid => usefulnessOf(directory, uid, keepsEnded), limits, clock.now());
  for (const run of containers) await removeRun({runtime, output}, run);
  for (const id of sandboxes) await runtime.removeSandbox(id);
  await output.sweep?.(uid => sources.isKnown(uid) || working.get(uid) !== undefined);
};

/** Cleans up a node. */
export interface Housekeeping {
  /** Removes exited containers at once, with all those of terminated pods. */
  removeUnused(): Promise<void>;
}

/** Cleans up periodically until the signal aborts. */
export const startHousekeeping = (parts: HousekeepingParts): Housekeeping => {
  const {clock, signal, log} = parts;
  runEvery(clock, cleanMs, signal, () => {
    clean(parts);
    return sweep(parts).catch((error: unknown) => log.warn({err: error}, 'failed to clean up after deleted pods'));
  });
  runEvery(clock, collectMs, signal, () =>
    collect(parts, true).catch((error: unknown) => log.warn({err: error}, 'failed to remove exited containers')),
  );
  return {removeUnused: () => collect(parts, false)};
};
