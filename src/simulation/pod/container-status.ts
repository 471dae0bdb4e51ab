// The container statuses of a simulated pod, from its records.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, ContainerStatus, PodSpec} from '#src/api/pod.js';
import {wireTime} from '#src/api/time.js';
import type {Timeline} from '#src/simulation/timeline.js';
import {fullName, imageId} from '#src/simulation/rules/images.js';
import type {Amounts} from './resizing.js';
import {isInitialized, type ContainerRecord, type Termination, type PodRecord} from './record.js';
import {specContainers, type SpecContainer} from '#src/simulation/rules/spec-containers.js';

type WireState = NonNullable<ContainerStatus['state']>;
type Terminated = NonNullable<WireState['terminated']>;

const terminated = ({exitCode, reason, message, startedAt, finishedAt, id}: Termination, timeline: Timeline): Terminated => ({
  exitCode,
  reason,
  ...(message ? {message} : {}),
  ...(startedAt === undefined ? {} : {startedAt: wireTime(timeline.wallOf(startedAt))}),
  ...(finishedAt === undefined ? {} : {finishedAt: wireTime(timeline.wallOf(finishedAt))}),
  ...(id ? {containerID: id} : {}),
});

const unknown: Termination = {
  exitCode: 137,
  reason: 'ContainerStatusUnknown',
  message: 'The container could not be located when the pod was terminated',
};

const waitingReason = ({spec}: {readonly spec?: Frozen<PodSpec>}): string =>
  spec?.initContainers?.length ? 'PodInitializing' : 'ContainerCreating';

/** Returns the state of a container for the API. Once an initialized pod has finished, an unknown container counts as lost. */
const stateOf = (record: PodRecord, {state, role}: ContainerRecord, timeline: Timeline): WireState => {
  switch (state.is) {
    case 'running':
      return {running: {startedAt: wireTime(timeline.wallOf(state.startedAt))}};
    case 'ended':
      return {terminated: terminated(state, timeline)};
    case 'waiting': {
      if (record.isFinished && !record.rejection && role === 'regular' && isInitialized(record))
        return {terminated: terminated(unknown, timeline)};
      const {reason = waitingReason(record.pod), message} = state;
      return {waiting: {reason, ...(message ? {message} : {})}};
    }
  }
};

const mounts = ({volumeMounts = []}: Frozen<AnyContainer>) =>
  volumeMounts.map(({name, mountPath, readOnly, recursiveReadOnly}) => ({
    name,
    mountPath,
    ...(readOnly
      ? {readOnly, recursiveReadOnly: recursiveReadOnly === 'Enabled' || recursiveReadOnly === 'IfPossible' ? 'Enabled' : 'Disabled'}
      : {}),
  }));

const userOf = (
  {securityContext: own}: Frozen<AnyContainer>,
  {securityContext: pods}: Frozen<PodSpec>,
): NonNullable<ContainerStatus['user']> => {
  const gid = own?.runAsGroup ?? pods?.runAsGroup ?? 0;
  const groups = new Set([gid, ...(pods?.fsGroup === undefined ? [] : [pods.fsGroup]), ...(pods?.supplementalGroups ?? [])]);
  return {linux: {uid: own?.runAsUser ?? pods?.runAsUser ?? 0, gid, supplementalGroups: [...groups]}};
};

const isStarted = ({state}: ContainerRecord, now: number): boolean => state.is === 'running' && state.startedBy <= now;

const isReady = ({state, role}: ContainerRecord, now: number): boolean =>
  role === 'init' ? state.is === 'ended' && state.exitCode === 0 : role !== 'ephemeral' && state.is === 'running' && state.readyBy <= now;

/** Returns the actual and the allocated resources. */
const amountsOf = (
  {resizing: {actual, allocated}}: PodRecord,
  name: string,
  requested: Amounts,
): Pick<ContainerStatus, 'resources' | 'allocatedResources'> => {
  const {requests} = allocated.get(name) ?? requested;
  return {
    resources: structuredClone(actual.get(name) ?? requested) as NonNullable<ContainerStatus['resources']>,
    ...(requests ? {allocatedResources: {...requests}} : {}),
  };
};

const statusOf = (record: PodRecord, own: ContainerRecord, {container}: SpecContainer, timeline: Timeline): ContainerStatus => {
  const now = timeline.now();
  const hasRun = own.id !== undefined;
  const {image = ''} = container;
  const volumeMounts = mounts(container);
  return {
    name: own.name,
    state: stateOf(record, own, timeline),
    lastState: own.last && own.state.is !== 'ended' ? {terminated: terminated(own.last, timeline)} : {},
    ready: isReady(own, now),
    restartCount: own.restarts,
    image: hasRun ? fullName(image) : image,
    imageID: hasRun ? imageId(image) : '',
    ...(own.id ? {containerID: own.id} : {}),
    started: isStarted(own, now),
    ...(hasRun && own.role !== 'ephemeral' ? amountsOf(record, own.name, container.resources ?? {}) : {}),
    ...(volumeMounts.length > 0 ? {volumeMounts} : {}),
    ...(hasRun ? {user: userOf(container, record.pod.spec!)} : {}),
  };
};

export interface ContainerStatuses {
  readonly initContainerStatuses?: ContainerStatus[];
  readonly containerStatuses?: ContainerStatus[];
  readonly ephemeralContainerStatuses?: ContainerStatus[];
}

/** Returns the container statuses of a pod: regular and ephemeral ones by name, init containers in their order. */
export const containerStatuses = (record: PodRecord, timeline: Timeline): ContainerStatuses => {
  const lists = {
    initContainerStatuses: [] as ContainerStatus[],
    containerStatuses: [] as ContainerStatus[],
    ephemeralContainerStatuses: [] as ContainerStatus[],
  };
  const known = new Map(record.containers.map(container => [container.name, container]));
  for (const of of specContainers(record.pod.spec!)) {
    const own = known.get(of.container.name) ?? {name: of.container.name, role: of.role, state: {is: 'waiting'}, restarts: 0};
    const list =
      of.role === 'regular' ? 'containerStatuses' : of.role === 'ephemeral' ? 'ephemeralContainerStatuses' : 'initContainerStatuses';
    lists[list].push(statusOf(record, own, of, timeline));
  }
  const byName = (a: ContainerStatus, b: ContainerStatus) => (a.name < b.name ? -1 : 1);
  lists.containerStatuses.sort(byName);
  lists.ephemeralContainerStatuses.sort(byName);
  return Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0));
};
