import type {Frozen} from '#src/api/key.js';
import type {ContainerStatus, Pod, PodSpec} from '#src/api/pod.js';
import {isSidecar, mayRestart} from '#src/model/pod/restart.js';
import {hasRegularStarted} from './init-actions.js';

export type Phase = 'Pending' | 'Running' | 'Succeeded' | 'Failed';

type Statuses = ReadonlyMap<string, Frozen<ContainerStatus>>;

export const isTerminalPhase = (phase: string | undefined): phase is 'Succeeded' | 'Failed' => phase === 'Succeeded' || phase === 'Failed';

/** The exit code of the latest run in a status. */
const lastExit = ({state, lastState}: Frozen<ContainerStatus>): number | undefined =>
  state?.terminated?.exitCode ?? (state?.waiting ? lastState?.terminated?.exitCode : undefined);

/**
 * Returns the progress of the regular init containers: whether one has failed permanently, and whether one is still to
 * complete.
 */
const initCounts = (spec: Frozen<PodSpec>, statuses: Statuses) => {
  let isBroken = false;
  let isPending = false;
  for (const container of spec.initContainers ?? []) {
    if (isSidecar(container)) continue;
    const status = statuses.get(container.name);
    const code = status && lastExit(status);
    if (code === undefined) isPending = true;
    else if (code !== 0 && !mayRestart(container, spec, code)) isBroken = true;
    else if (code !== 0 && !status?.state?.terminated) isPending = true;
  }
  return {isBroken, isPending};
};

/** Returns the progress of the sidecars. */
const sidecarCounts = (spec: Frozen<PodSpec>, statuses: Statuses) => {
  const count = {pending: 0, running: 0, unknown: 0};
  for (const container of spec.initContainers ?? []) {
    if (!isSidecar(container)) continue;
    const status = statuses.get(container.name);
    if (!status) count.unknown++;
    else if (status.state?.running) {
      if (!status.started) count.pending++;
      count.running++;
    } else if (lastExit(status) === undefined) count.pending++;
  }
  return count;
};

const regularCounts = (spec: Frozen<PodSpec>, statuses: Statuses) => {
  const count = {unknown: 0, running: 0, waiting: 0, stopped: 0, succeeded: 0, restarting: 0};
  for (const container of spec.containers) {
    const status = statuses.get(container.name);
    const code = status && lastExit(status);
    if (status?.state?.running) count.running++;
    else if (code !== undefined) {
      count.stopped++;
      if (code === 0 && status?.state?.terminated) count.succeeded++;
      if (mayRestart(container, spec, code)) count.restarting++;
    } else if (status?.state?.waiting) count.waiting++;
    else count.unknown++;
  }
  return count;
};

/**
 * Returns the phase of a pod from its container statuses (the API reference, pod lifecycle). `isEnding`: nothing is
 * restarted, since the pod is deleted, evicted or over its deadline; ignored for static pods.
 */
export const phaseOf = ({spec}: Frozen<Pod>, statuses: Statuses, isEnding: boolean): Phase => {
  const init = initCounts(spec!, statuses);
  if (init.isBroken) return 'Failed';
  const sidecars = sidecarCounts(spec!, statuses);
  const regular = regularCounts(spec!, statuses);
  if (init.isPending || (sidecars.pending > 0 && !hasRegularStarted(spec!, statuses)) || regular.waiting > 0) return 'Pending';
  const isUnknown = regular.unknown + sidecars.unknown > 0;
  const running = regular.running + sidecars.running;
  if (running > 0 && !isUnknown) return 'Running';
  if (running > 0 || regular.stopped === 0 || isUnknown) return 'Pending';
  if (!isEnding && regular.restarting > 0) return 'Running';
  return regular.stopped === regular.succeeded ? 'Succeeded' : 'Failed';
};
