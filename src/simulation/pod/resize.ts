// In-place resize of a simulated pod (KEP-1287): allocates, defers or rejects the request, and actuates it after a
// delay.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {ResizeDecision} from '#src/platlet/pod/admission/resize.js';
import {completedMessage, pendingMessage, startedMessage} from '#src/platlet/pod/resources/messages.js';
import {sameRequirements, withResources} from '#src/platlet/pod/resources/pod-resources.js';
import {endContainerRun, waitForRestart} from './containers.js';
import type {PodRecord} from './record.js';
import {specContainers} from '#src/model/pod/spec-containers.js';
import type {Amounts, Resizing} from './resizing.js';

export interface ResizeContext {
  readonly now: number;
  /** Returns what the node says to what the spec requests, beside what is allocated to the pod. */
  decide(allocated: Frozen<Pod>): ResizeDecision;
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
  a.size === b.size && [...a].every(([name, amounts]) => sameRequirements(amounts, b.get(name)));

/** Returns the initial resources of a pod: from its status, or from its spec. */
export const resizingOf = (pod: Frozen<Pod>): Resizing => {
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  const known = new Map(
    statuses.flatMap(({name, resources, containerID}) => (containerID && resources ? [[name, resources] as const] : [])),
  );
  const allocated = new Map([...requestedAmounts(pod)].map(([name, requested]) => [name, known.get(name) ?? requested]));
  return {allocated, actual: allocated};
};

const startOrDefer = (
  record: PodRecord,
  requested: ReadonlyMap<string, Amounts>,
  {now, decide, reserve, recordEvent}: ResizeContext,
): void => {
  const {resizing, pod} = record;
  const generation = pod.metadata?.generation ?? 0;
  const decision = decide(withResources(pod, {containers: Object.fromEntries(resizing.allocated)}, false));
  if (decision.is === 'preempting') return;
  if (decision.is === 'accepted') {
    reserve();
    resizing.allocated = requested;
    resizing.progress = {doneAt: now + actuationMs, generation};
    delete resizing.pending;
    recordEvent('Normal', 'ResizeStarted', startedMessage(pod, generation));
    return;
  }
  const {pending} = resizing;
  const {message, isEvent} = decision;
  const reason = decision.is === 'infeasible' ? 'Infeasible' : 'Deferred';
  resizing.pending = {reason, message, generation, since: pending?.reason === reason ? pending.since : now};
  if (!isEvent || (pending?.reason === reason && pending.generation === generation)) return;
  recordEvent('Warning', `Resize${reason}`, pendingMessage(pod, reason, generation, message));
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
  context.recordEvent('Normal', 'ResizeCompleted', completedMessage(record.pod, generation));
  return Infinity;
};
