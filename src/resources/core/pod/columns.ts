import type {Ago} from '#src/api/duration.js';
import type {ContainerStatus, Pod} from '#src/api/pod.js';
import {parseTime} from '#src/api/time.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import type {Column, RowCondition} from '#src/resources/definition.js';
import {isSidecar} from '#src/model/pod/restart.js';

/** The status of a pod as tables show it. */
interface Summary {
  readonly status: string;
  readonly ready: number;
  readonly total: number;
  readonly restarts: number;
  /** ms since the epoch. */
  readonly lastRestart: number | undefined;
}

const later = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : Math.max(a, b);

/** Counts restarts and keeps the time of the last. */
class Restarts {
  count = 0;
  last: number | undefined;

  add({restartCount, lastState}: ContainerStatus): void {
    this.count += restartCount;
    this.last = later(this.last, parseTime(lastState?.terminated?.finishedAt));
  }
}

const endedText = (ended: {readonly reason?: string; readonly signal?: number; readonly exitCode: number}): string =>
  ended.reason || (ended.signal ? `Signal:${ended.signal}` : `ExitCode:${ended.exitCode}`);

interface Starting {
  /** The status of the first init container that has not finished. */
  readonly at: string | undefined;
  readonly ready: number;
  readonly all: Restarts;
  readonly ofSidecars: Restarts;
}

/** Returns the progress of the init containers. */
const starting = ({spec, status}: Readonly<Pod>): Starting => {
  const sidecars = new Set((spec?.initContainers ?? []).filter(isSidecar).map(({name}) => name));
  const all = new Restarts();
  const ofSidecars = new Restarts();
  let ready = 0;
  for (const [i, container] of (status?.initContainerStatuses ?? []).entries()) {
    all.add(container);
    if (sidecars.has(container.name)) ofSidecars.add(container);
    const {terminated, waiting} = container.state ?? {};
    if (terminated?.exitCode === 0) continue;
    if (sidecars.has(container.name) && container.started) {
      if (container.ready) ready++;
      continue;
    }
    const at = terminated
      ? endedText(terminated)
      : waiting?.reason && waiting.reason !== 'PodInitializing'
        ? waiting.reason
        : `${i}/${spec?.initContainers?.length ?? 0}`;
    return {at: `Init:${at}`, ready, all, ofSidecars};
  }
  return {at: undefined, ready, all, ofSidecars};
};

const isTrue = ({status}: Readonly<Pod>, type: string): boolean =>
  status?.conditions?.some(condition => condition.type === type && condition.status === 'True') ?? false;

/** Returns the status of a pod's main containers; the first one with a reason determines it. */
const running = (pod: Readonly<Pod>, before: string, restarts: Restarts): {readonly status: string; readonly ready: number} => {
  let status = before;
  let failure: string | undefined;
  let ready = 0;
  for (const container of (pod.status?.containerStatuses ?? []).toReversed()) {
    restarts.add(container);
    const {waiting, terminated, running: runs} = container.state ?? {};
    if (waiting?.reason) status = waiting.reason;
    else if (terminated) {
      status = endedText(terminated);
      if (terminated.exitCode !== 0) failure = status;
    } else if (container.ready && runs) ready++;
  }
  if (status !== 'Completed') return {status, ready};
  if (ready > 0 && isTrue(pod, 'Ready')) return {status: 'Running', ready};
  return {status: failure ?? (ready > 0 ? 'NotReady' : status), ready};
};

const isOver = (phase: string | undefined): boolean => phase === 'Succeeded' || phase === 'Failed';

/** Several columns show parts of one summary. */
const summaries = new WeakMap<Readonly<Pod>, Summary>();

const summary = (pod: Readonly<Pod>): Summary => {
  let found = summaries.get(pod);
  if (!found) summaries.set(pod, (found = newSummary(pod)));
  return found;
};

const newSummary = (pod: Readonly<Pod>): Summary => {
  const {phase = '', reason, conditions = []} = pod.status ?? {};
  const gated = conditions.some(condition => condition.type === 'PodScheduled' && condition.reason === 'SchedulingGated');
  const begin = starting(pod);
  let status = begin.at ?? (gated ? 'SchedulingGated' : reason || phase);
  let restarts = begin.all;
  let {ready} = begin;
  if (begin.at === undefined || isTrue(pod, 'Initialized')) {
    restarts = begin.ofSidecars;
    const now = running(pod, status, restarts);
    status = now.status;
    ready += now.ready;
  }
  if (pod.metadata?.deletionTimestamp) {
    if (reason === 'NodeLost') status = 'Unknown';
    else if (!isOver(phase)) status = 'Terminating';
  }
  const total = (pod.spec?.containers?.length ?? 0) + (pod.spec?.initContainers ?? []).filter(isSidecar).length;
  return {status, ready, total, restarts: restarts.count, lastRestart: restarts.last};
};

const restartsText = (pod: Readonly<Pod>, ago: Ago): string => {
  const {restarts, lastRestart} = summary(pod);
  return restarts !== 0 && lastRestart !== undefined ? `${restarts} (${ago(lastRestart)} ago)` : String(restarts);
};

const gatesText = (pod: Readonly<Pod>): string => {
  const gates = pod.spec?.readinessGates ?? [];
  return gates.length === 0 ? '<none>' : `${gates.filter(({conditionType}) => isTrue(pod, conditionType)).length}/${gates.length}`;
};

export const podColumns: readonly Column<Pod>[] = [
  nameColumn,
  {
    name: 'Ready',
    description: 'How many containers of the pod are ready, of how many.',
    of: pod => {
      const {ready, total} = summary(pod);
      return `${ready}/${total}`;
    },
  },
  {name: 'Status', description: 'How the pod stands, in one word.', of: pod => summary(pod).status},
  {name: 'Restarts', description: 'How often containers of the pod were started again, and how long ago the last time.', of: restartsText},
  ageColumn,
  {name: 'IP', description: 'The first address of the pod.', priority: 1, of: ({status}) => status?.podIPs?.[0]?.ip || '<none>'},
  {name: 'Node', description: 'The node the pod is bound to.', priority: 1, of: ({spec}) => spec?.nodeName || '<none>'},
  {
    name: 'Nominated Node',
    description: 'The node that is being made free for the pod.',
    priority: 1,
    of: ({status}) => status?.nominatedNodeName || '<none>',
  },
  {name: 'Readiness Gates', description: 'How many of the conditions the pod waits for are true, of how many.', priority: 1, of: gatesText},
];

const over: Readonly<Record<string, readonly RowCondition[]>> = {
  Succeeded: [{type: 'Completed', status: 'True', reason: 'Succeeded', message: 'The pod has completed successfully.'}],
  Failed: [{type: 'Completed', status: 'True', reason: 'Failed', message: 'The pod failed.'}],
};

/** Returns the condition that marks finished pods, so that clients can omit them. */
export const podRowConditions = ({status}: Readonly<Pod>): readonly RowCondition[] | undefined => over[status?.phase ?? ''];
