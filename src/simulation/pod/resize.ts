// In-place resize of a simulated pod (KEP-1287): allocates, defers or rejects the request, and actuates it after a
// delay.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {sameJson} from '#src/api/equal.js';
import type {Rejection} from '#src/platlet/pod/admission/rejection.js';
import {endContainerRun, waitForRestart} from './containers.js';
import type {PodRecord} from './record.js';
import {specContainers} from '#src/model/pod/spec-containers.js';
import type {Amounts, Resizing} from './resizing.js';

export interface ResizeContext {
  readonly now: number;
  /** Returns why the node cannot allocate what the spec requests. */
  checkRoom(): Rejection | undefined;
  /** Replaces the allocation by what the spec requests. */
  reserve(): void;
  recordEvent(type: 'Normal' | 'Warning', reason: string, message: string, fieldPath?: string): void;
}

/** The duration of the actuation. */
const actuationMs = 1_000;

const requestedAmounts = ({spec}: Frozen<Pod>): ReadonlyMap<string, Amounts> =>
  new Map(
    [...specContainers(spec!)].flatMap(({container, role}) =>
      role === 'regular' || role === 'sidecar' ? [[container.name, container.resources ?? {}] as const] : [],
    ),
  );

const sameAmounts = (a: ReadonlyMap<string, Amounts>, b: ReadonlyMap<string, Amounts>): boolean =>
  a.size === b.size && [...a].every(([name, amounts]) => sameJson(amounts, b.get(name)));

/** Returns the initial resources of a pod: from its status, or from its spec. */
export const resizingOf = (pod: Frozen<Pod>): Resizing => {
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  const known = new Map(
    statuses.flatMap(({name, resources, containerID}) => (containerID && resources ? [[name, resources] as const] : [])),
  );
  const allocated = new Map([...requestedAmounts(pod)].map(([name, requested]) => [name, known.get(name) ?? requested]));
  return {allocated, actual: allocated};
};

const summary = ({pod}: PodRecord, generation: number, error?: string): string => {
  const list = (containers: readonly {readonly name: string; readonly resources?: Amounts}[] = []) =>
    containers.map(({name, resources = {}}) => ({name, resources}));
  const [initContainers, containers] = [list(pod.spec?.initContainers), list(pod.spec?.containers)];
  return JSON.stringify({...(initContainers.length > 0 ? {initContainers} : {}), containers, generation, ...(error ? {error} : {})});
};

const startOrDefer = (
  record: PodRecord,
  requested: ReadonlyMap<string, Amounts>,
  {now, checkRoom, reserve, recordEvent}: ResizeContext,
): void => {
  const {resizing, pod} = record;
  const generation = pod.metadata?.generation ?? 0;
  const rejection = checkRoom();
  if (!rejection) {
    reserve();
    resizing.allocated = requested;
    resizing.progress = {doneAt: now + actuationMs, generation};
    delete resizing.pending;
    recordEvent('Normal', 'ResizeStarted', `Pod resize started: ${summary(record, generation)}`);
    return;
  }
  const {pending} = resizing;
  if (pending?.reason === rejection.reason && pending.message === rejection.message && pending.generation === generation) return;
  resizing.pending = {...rejection, generation};
  recordEvent('Warning', `Resize${rejection.reason}`, `Pod resize ${rejection.reason}: ${summary(record, generation, rejection.message)}`);
};

const restartForResize = (record: PodRecord, {now, recordEvent}: ResizeContext): void => {
  const {actual, allocated} = record.resizing;
  for (const {container, path} of specContainers(record.pod.spec!)) {
    const policies = 'resizePolicy' in container ? (container.resizePolicy ?? []) : [];
    const [before, after] = [actual.get(container.name), allocated.get(container.name)];
    const requiresRestart = policies.some(
      ({resourceName: name, restartPolicy}) =>
        restartPolicy === 'RestartContainer' &&
        (before?.requests?.[name] !== after?.requests?.[name] || before?.limits?.[name] !== after?.limits?.[name]),
    );
    const own = record.containers.find(({name}) => name === container.name);
    if (!requiresRestart || own?.state.is !== 'running') continue;
    recordEvent('Normal', 'Killing', `Container ${container.name} resize requires restart`, path);
    endContainerRun(own, {exitCode: 143}, now);
    waitForRestart(own);
  }
};

/** Allocates and actuates changed resource requests. Returns the time of the next call. */
export const resize = (record: PodRecord, context: ResizeContext): number => {
  const {resizing} = record;
  if (record.isFinished || record.termination) {
    delete resizing.pending;
    delete resizing.progress;
    return Infinity;
  }
  const requested = requestedAmounts(record.pod);
  if (sameAmounts(requested, resizing.allocated)) delete resizing.pending;
  else startOrDefer(record, requested, context);
  if (!resizing.progress) return Infinity;
  if (context.now < resizing.progress.doneAt) return resizing.progress.doneAt;
  const {generation} = resizing.progress;
  restartForResize(record, context);
  resizing.actual = resizing.allocated;
  delete resizing.progress;
  context.recordEvent('Normal', 'ResizeCompleted', `Pod resize completed: ${summary(record, generation)}`);
  return Infinity;
};
