import type {Frozen} from '#src/api/key.js';
import type {ContainerStatus, Pod} from '#src/api/pod.js';
import {keyOf, keyText} from '#src/api/key.js';
import {parseTime} from '#src/api/time.js';
import {drawDuration, type Behavior} from '#src/simulation/rules/behavior.js';
import type {Timeline} from '#src/simulation/time/timeline.js';
import {timesOf} from './containers.js';
import {resizingOf} from './resize.js';
import type {ContainerRecord, Termination, PodRecord} from './record.js';
import {specContainers, type SpecContainer} from '#src/model/pod/spec-containers.js';

type WireTerminated = NonNullable<NonNullable<Frozen<ContainerStatus>['state']>['terminated']>;

/** Converts a time in a status to the timeline. */
const timeIn = (text: string | undefined, timeline: Timeline): number | undefined => {
  const wall = parseTime(text);
  return wall === undefined ? undefined : timeline.timeOf(wall);
};

const endedOf = (
  {exitCode, reason = '', message, startedAt, finishedAt, containerID: id}: WireTerminated,
  timeline: Timeline,
): Termination => {
  const [started, finished] = [timeIn(startedAt, timeline), timeIn(finishedAt, timeline)];
  return {
    exitCode,
    reason,
    ...(message ? {message} : {}),
    ...(started === undefined ? {} : {startedAt: started}),
    ...(finished === undefined ? {} : {finishedAt: finished}),
    ...(id ? {id} : {}),
  };
};

/** Restores the record of a container from its status. Backoffs are reset. */
const containerRecordOf = (
  record: PodRecord,
  of: SpecContainer,
  status: Frozen<ContainerStatus> | undefined,
  behavior: Behavior,
  timeline: Timeline,
): ContainerRecord => {
  const own: ContainerRecord = {name: of.container.name, role: of.role, state: {is: 'waiting'}, restarts: status?.restartCount ?? 0};
  if (!status) return own;
  const {state, lastState, containerID} = status;
  if (containerID) {
    own.id = containerID;
    record.runs.set(containerID, {entries: behavior.log, written: []});
  }
  if (lastState?.terminated) own.last = endedOf(lastState.terminated, timeline);
  if (state?.terminated) own.state = {is: 'ended', ...endedOf(state.terminated, timeline)};
  else if (state?.running)
    own.state = {
      is: 'running',
      ...timesOf(record, own, of.container, behavior, timeIn(state.running.startedAt, timeline) ?? record.startTime),
    };
  return own;
};

/** Creates the record of a pod: from its status, if one was written before a restart. */
export const recordOf = (pod: Frozen<Pod>, timeline: Timeline, behaviorOf: (of: SpecContainer) => Behavior): PodRecord => {
  const {metadata, spec, status} = pod;
  const startTime = timeIn(status?.startTime, timeline) ?? timeline.now();
  const phase = status?.phase;
  const statuses = new Map(
    [status?.initContainerStatuses, status?.containerStatuses, status?.ephemeralContainerStatuses]
      .flatMap(list => list ?? [])
      .map(one => [one.name, one]),
  );
  const hasRun = [...statuses.values()].some(({containerID}) => containerID);
  const record: PodRecord = {
    uid: metadata?.uid ?? '',
    key: keyText(keyOf(pod)),
    nodeName: spec?.nodeName ?? '',
    pod,
    startTime,
    containers: [],
    sandboxAt: startTime,
    sandbox: hasRun ? 'up' : 'pending',
    addresses: hasRun ? (status?.podIPs ?? []).flatMap(({ip}) => ip ?? []) : [],
    isFinished: phase === 'Succeeded' || phase === 'Failed',
    deleted: false,
    resizing: resizingOf(pod),
    runs: new Map(),
    requests: 0,
    requestedExits: new Map(),
    listeners: new Set(),
  };
  if (record.isFinished) record.sandbox = 'down';
  for (const of of specContainers(spec!)) {
    const behavior = behaviorOf(of);
    if (of.role === 'regular')
      record.sandboxAt = Math.max(record.sandboxAt, startTime + drawDuration(behavior.startAfter, `${record.uid}/startAfter`));
    record.containers.push(containerRecordOf(record, of, statuses.get(of.container.name), behavior, timeline));
  }
  return record;
};
