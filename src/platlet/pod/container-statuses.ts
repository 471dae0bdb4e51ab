// The container statuses of a pod, from the state in the runtime and the previous statuses.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, ContainerStatus, Pod, VolumeMount} from '#src/api/pod.js';
import {wireTime} from '#src/api/time.js';
import {isSidecar} from '#src/model/pod/restart.js';
import {specContainers, type Role, type SpecContainer} from '#src/model/pod/spec-containers.js';
import type {ContainerInstance, RuntimePod} from '#src/platlet/runtime/state.js';
import {runsOf} from './instances.js';
import {isToStart, type RestartGates} from './restart.js';

type WireState = NonNullable<ContainerStatus['state']>;

/** Why a container that is to start is waiting. */
export interface WaitingReason {
  readonly reason: string;
  readonly message?: string;
}

/** The inputs of container statuses besides the pod. */
export interface ContainerInputs {
  readonly runtime: RuntimePod;
  /** Why containers are waiting, by name. */
  readonly waiting: ReadonlyMap<string, WaitingReason>;
  readonly gates?: RestartGates;
  /** The runtime name prefixed to container ids in statuses: `containerd`. Absent: no prefix. */
  readonly runtimeName?: string;
  /** Whether a running container has started, by its startup probe. */
  isStarted(of: SpecContainer, instance: ContainerInstance): boolean;
  /** Whether a started container is ready, by its readiness probe. */
  isReady(of: SpecContainer, instance: ContainerInstance): boolean;
  /** The actual and the allocated resources of a container that was created; `before` is what was reported last. */
  resourcesOf?(
    of: SpecContainer,
    latest: ContainerInstance,
    before: Frozen<ContainerStatus> | undefined,
  ): Pick<ContainerStatus, 'resources' | 'allocatedResources'>;
  /** The health of the devices that a container has, by resource; absent: it is not shown. */
  healthOf?(container: string): readonly ResourceStatus[];
}

/** The health of the devices of a resource. */
export type ResourceStatus = NonNullable<ContainerStatus['allocatedResourcesStatus']>[number];

export interface ContainerStatuses {
  readonly initContainerStatuses?: ContainerStatus[];
  readonly containerStatuses?: ContainerStatus[];
  readonly ephemeralContainerStatuses?: ContainerStatus[];
}

/** The exit code and the reason of a container whose end was not observed: as if it was killed. */
const lost = {exitCode: 137, reason: 'ContainerStatusUnknown'} as const;
const lostText = 'The container could not be located when the pod was terminated';
const vanishedText = 'The container could not be located when the pod was deleted.  The container used to be Running';

export const lostState: WireState = {terminated: {...lost, message: lostText}};

type Ids = Pick<ContainerInputs, 'runtimeName'>;

const idOf = ({id}: ContainerInstance, {runtimeName}: Ids): string => (runtimeName && id ? `${runtimeName}://${id}` : id);

const terminatedOf = ({exitCode = 0, reason, message, startedAt, finishedAt}: ContainerInstance, id: string): WireState => ({
  terminated: {
    exitCode,
    reason: reason ?? (exitCode === 0 ? 'Completed' : 'Error'),
    ...(message ? {message} : {}),
    ...(startedAt === undefined ? {} : {startedAt: wireTime(startedAt)}),
    ...(finishedAt === undefined ? {} : {finishedAt: wireTime(finishedAt)}),
    ...(id ? {containerID: id} : {}),
  },
});

/** Returns the state of a run. A run that is missing in the runtime was killed, if its last state was running. */
const stateOf = (instance: ContainerInstance, before: Frozen<ContainerStatus> | undefined, ids: Ids): WireState => {
  switch (instance.state) {
    case 'running':
      return {running: {startedAt: wireTime(instance.startedAt ?? instance.createdAt)}};
    case 'exited':
      return terminatedOf(instance, idOf(instance, ids));
    case 'unknown':
      return before?.state?.running ? {terminated: {...lostState.terminated!, containerID: idOf(instance, ids)}} : {waiting: {}};
    case 'created':
      return {waiting: {}};
  }
};

/** Returns the volume mounts of a container from its run or, without one, from the spec. */
const mounts = ({volumeMounts = []}: Frozen<AnyContainer>, run?: ContainerInstance) => {
  const isRecursive = ({mountPath, recursiveReadOnly = 'Disabled'}: Frozen<VolumeMount>): boolean =>
    run?.mounts
      ? run.mounts.some(({containerPath, recursiveReadonly = false}) => containerPath === mountPath && recursiveReadonly)
      : recursiveReadOnly !== 'Disabled';
  return volumeMounts.map(mount => ({
    name: mount.name,
    mountPath: mount.mountPath,
    ...(mount.readOnly ? {readOnly: true, recursiveReadOnly: isRecursive(mount) ? 'Enabled' : 'Disabled'} : {}),
  }));
};

/** Returns the waiting reason of a container that was never created. */
export const defaultWaitingReason = ({spec}: Frozen<Pod>): string =>
  spec?.initContainers?.length ? 'PodInitializing' : 'ContainerCreating';

/** Returns the status of a container without a run in the runtime. */
const withoutRun = (pod: Frozen<Pod>, {container, role}: SpecContainer, before: Frozen<ContainerStatus> | undefined): ContainerStatus => {
  if (before?.state?.terminated) return {...(before as ContainerStatus)};
  const {lastState = {}, restartCount = 0} = before ?? {};
  const hasVanished = before?.state?.running !== undefined && !lastState.terminated && role !== 'ephemeral';
  const volumeMounts = mounts(container);
  return {
    name: container.name,
    state: {waiting: {reason: defaultWaitingReason(pod)}},
    lastState: hasVanished ? {terminated: {...lost, message: vanishedText}} : (lastState as WireState),
    ready: false,
    restartCount: restartCount + (hasVanished && !pod.metadata?.deletionTimestamp ? 1 : 0),
    image: container.image ?? '',
    imageID: '',
    started: false,
    ...(volumeMounts.length > 0 ? {volumeMounts} : {}),
  };
};

const ofRun = (
  of: SpecContainer,
  [latest, previous]: readonly [ContainerInstance, ...ContainerInstance[]],
  before: Frozen<ContainerStatus> | undefined,
  inputs: ContainerInputs,
): ContainerStatus => {
  const volumeMounts = mounts(of.container, latest);
  const {user} = latest;
  return {
    name: of.container.name,
    state: stateOf(latest, before, inputs),
    lastState: previous ? stateOf(previous, undefined, inputs) : {},
    ready: false,
    restartCount: latest.attempt + (latest.state === 'unknown' && before?.state?.running ? 1 : 0),
    image: latest.image.image,
    imageID: latest.imageRef,
    containerID: idOf(latest, inputs),
    started: false,
    ...(of.role === 'ephemeral' ? {} : inputs.resourcesOf?.(of, latest, before)),
    ...(volumeMounts.length > 0 ? {volumeMounts} : {}),
    ...(user ? {user: {linux: {uid: user.uid, gid: user.gid, supplementalGroups: [...user.supplementalGroups]}}} : {}),
  };
};

/** A container that waits for a restart shows the reason, and its last run as the last state. */
const showWaiting = (status: ContainerStatus, {reason, message}: WaitingReason): void => {
  if (status.state?.terminated) status.lastState = status.state;
  status.state = {waiting: {reason, ...(message ? {message} : {})}};
};

const isReady = (of: SpecContainer, latest: ContainerInstance | undefined, isStarted: boolean, inputs: ContainerInputs): boolean => {
  if (!latest || of.role === 'ephemeral') return false;
  if (of.role === 'init') return latest.state === 'exited' && latest.exitCode === 0;
  return latest.state === 'running' && isStarted && inputs.isReady(of, latest);
};

const statusOf = (
  pod: Frozen<Pod>,
  of: SpecContainer,
  before: Frozen<ContainerStatus> | undefined,
  inputs: ContainerInputs,
): ContainerStatus => {
  const {allocatedResourcesStatus: _, ...status} = runStatusOf(pod, of, before, inputs);
  const health = of.role === 'regular' ? (inputs.healthOf?.(of.container.name) ?? []) : [];
  return health.length > 0 ? {...status, allocatedResourcesStatus: [...health]} : status;
};

const runStatusOf = (
  pod: Frozen<Pod>,
  of: SpecContainer,
  before: Frozen<ContainerStatus> | undefined,
  inputs: ContainerInputs,
): ContainerStatus => {
  const [latest, ...earlier] = runsOf(inputs.runtime, of.container.name);
  const status = latest ? ofRun(of, [latest, ...earlier], before, inputs) : withoutRun(pod, of, before);
  const why = inputs.waiting.get(of.container.name);
  // A container that will not restart keeps its terminated state.
  if (why && !(latest ? latest.state === 'running' : status.state?.terminated) && isToStart(pod, of.container, latest, inputs.gates))
    showWaiting(status, why);
  if (!latest && status.state?.terminated) return status;
  const isStarted = latest?.state === 'running' && inputs.isStarted(of, latest);
  status.started = isStarted;
  status.ready = isReady(of, latest, isStarted, inputs);
  return status;
};

const listOf: Readonly<Record<Role, keyof ContainerStatuses>> = {
  init: 'initContainerStatuses',
  sidecar: 'initContainerStatuses',
  regular: 'containerStatuses',
  ephemeral: 'ephemeralContainerStatuses',
};

/** Returns all container statuses by name. */
export const statusesByName = (statuses: Frozen<ContainerStatuses> = {}): ReadonlyMap<string, Frozen<ContainerStatus>> => {
  const byName = new Map<string, Frozen<ContainerStatus>>();
  for (const list of [statuses.initContainerStatuses, statuses.containerStatuses, statuses.ephemeralContainerStatuses])
    for (const status of list ?? []) byName.set(status.name, status);
  return byName;
};

const byName = (a: ContainerStatus, b: ContainerStatus) => (a.name < b.name ? -1 : 1);

/** Returns the container statuses of a pod: regular and ephemeral containers by name, init containers in order. */
export const containerStatuses = (pod: Frozen<Pod>, inputs: ContainerInputs): ContainerStatuses => {
  const before = statusesByName(pod.status);
  const lists: {-readonly [K in keyof ContainerStatuses]: ContainerStatus[]} = {};
  for (const of of specContainers(pod.spec!))
    (lists[listOf[of.role]] ??= []).push(statusOf(pod, of, before.get(of.container.name), inputs));
  lists.containerStatuses?.sort(byName);
  lists.ephemeralContainerStatuses?.sort(byName);
  return lists;
};

/** Returns the resources in the spec of a container. */
export const declaredResources = ({
  container: {resources = {}},
}: SpecContainer): ReturnType<NonNullable<ContainerInputs['resourcesOf']>> => {
  const {requests} = resources;
  return {
    resources: resources as NonNullable<ContainerStatus['resources']>,
    ...(requests ? {allocatedResources: {...requests}} : {}),
  };
};

const markLost = (status: ContainerStatus): ContainerStatus =>
  status.state?.terminated ? status : {...status, state: lostState, ready: false, started: false};

/** Whether the init containers have completed, by the statuses. */
const isInitialized = ({spec}: Frozen<Pod>, {initContainerStatuses = [], containerStatuses = []}: ContainerStatuses): boolean => {
  const last = initContainerStatuses.at(-1);
  if (!last) return true;
  if (containerStatuses.some(({state, lastState}) => state?.running ?? state?.terminated ?? lastState?.terminated)) return true;
  const container = spec?.initContainers?.find(({name}) => name === last.name);
  if (container && isSidecar(container)) return last.started ?? false;
  return last.state?.terminated?.exitCode === 0 || last.lastState?.terminated?.exitCode === 0;
};

/**
 * Returns the final container statuses of a pod without running containers. A container whose end was not observed
 * counts as lost: a regular one if the pod was initialized, an init container if it or a later one has run.
 */
export const finalStatuses = (pod: Frozen<Pod>, statuses: ContainerStatuses): ContainerStatuses => {
  const {initContainerStatuses, containerStatuses, ...rest} = statuses;
  const lastInit = initContainerStatuses?.findLastIndex(({state, lastState}) => !state?.waiting || lastState?.terminated) ?? -1;
  return {
    ...rest,
    ...(initContainerStatuses
      ? {initContainerStatuses: initContainerStatuses.map((one, at) => (at <= Math.max(0, lastInit) ? markLost(one) : one))}
      : {}),
    ...(containerStatuses ? {containerStatuses: isInitialized(pod, statuses) ? containerStatuses.map(markLost) : containerStatuses} : {}),
  };
};
