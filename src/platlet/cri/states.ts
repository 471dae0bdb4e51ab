// Sandboxes, containers and images as a runtime reports them. Throws the original's errors for what it does not accept.

import type {Image, ImageSpec} from '#src/platlet/runtime/images.js';
import {identityOf} from '#src/platlet/runtime/labels.js';
import {RuntimeError} from '#src/platlet/runtime/runtime.js';
import type {ContainerEvent, ContainerInstance, PodIdentity, RuntimePod, Sandbox} from '#src/platlet/runtime/state.js';
import type {Value} from '#src/platlet/rpc/codec.js';
import type {imageSpec} from './messages/common.js';
import type {containerItem, containerStatus} from './messages/containers.js';
import type {containerEvent, image} from './messages/images.js';
import type {sandboxItem, sandboxMetadata, sandboxStatus} from './messages/sandboxes.js';

/** Returns a value that is required of the runtime. */
export const requiredOf = <A>(value: A | undefined, problem: string): A => {
  if (value === undefined || value === '') throw new RuntimeError('failed', problem);
  return value;
};

const podOf = ({uid, namespace, name}: Value<typeof sandboxMetadata>): PodIdentity => ({uid, namespace, name});

/** Undefined for sandboxes that no agent created. */
export const listedSandbox = (item: Value<typeof sandboxItem>): Sandbox | undefined =>
  item.metadata && {
    id: item.id,
    pod: podOf(item.metadata),
    attempt: item.metadata.attempt,
    isReady: item.state === 'ready',
    createdAt: item.createdAt ?? 0,
    addresses: [],
    usesHostNetwork: false,
    handler: item.runtimeHandler,
    annotations: item.annotations,
  };

export const sandboxOf = (status: Value<typeof sandboxStatus> | undefined): Sandbox => {
  const {id, metadata, state, createdAt, network, linux, runtimeHandler, annotations} = requiredOf(status, 'pod sandbox status is not set');
  requiredOf(id, 'status.Id is not set');
  const {uid, namespace, name, attempt} = requiredOf(metadata, 'status.Metadata is not set');
  for (const part of [name, namespace, uid])
    requiredOf(part, `metadata.Name, metadata.Namespace or metadata.Uid is not in metadata ${JSON.stringify(metadata)}`);
  return {
    id,
    pod: {uid, namespace, name},
    attempt,
    isReady: state === 'ready',
    createdAt: requiredOf(createdAt, 'status.CreatedAt is not set'),
    addresses: [network?.ip ?? '', ...(network?.additionalIps.map(({ip}) => ip) ?? [])].filter(address => address !== ''),
    usesHostNetwork: linux?.namespaces?.options?.network === 'node',
    handler: runtimeHandler,
    annotations,
  };
};

const imageSpecOf = (spec: Value<typeof imageSpec> | undefined): ImageSpec => ({
  image: spec?.image ?? '',
  ...(spec?.userSpecifiedImage ? {userSpecified: spec.userSpecifiedImage} : {}),
  ...(spec?.runtimeHandler ? {handler: spec.runtimeHandler} : {}),
});

/** Undefined for containers that no agent created. */
export const listedContainer = (item: Value<typeof containerItem>): ContainerInstance | undefined => {
  const pod = identityOf(item.labels);
  if (!pod || !item.metadata) return undefined;
  return {
    id: item.id,
    sandbox: item.podSandboxId,
    pod,
    name: item.metadata.name,
    attempt: item.metadata.attempt,
    state: item.state,
    createdAt: item.createdAt ?? 0,
    image: imageSpecOf(item.image),
    imageRef: item.imageRef,
    ...(item.imageId ? {imageId: item.imageId} : {}),
    annotations: item.annotations,
  };
};

/** Throws unless the fields required by the original are present. */
const checkedContainer = ({id, metadata, createdAt, image: spec, imageRef}: Value<typeof containerStatus>) => {
  requiredOf(id, 'status.Id is not set');
  const {name, attempt} = requiredOf(metadata, 'status.Metadata is not set');
  requiredOf(name, `metadata.Name is not in metadata ${JSON.stringify(metadata)}`);
  requiredOf(spec?.image, 'status.Image is not set');
  requiredOf(imageRef, 'status.ImageRef is not set');
  return {name, attempt, createdAt: requiredOf(createdAt, 'status.CreatedAt is not set')};
};

/** Returns what a run has by the runtime, which may say nothing of it. */
const resourcesOf = (linux: NonNullable<Value<typeof containerStatus>['resources']>['linux']): Pick<ContainerInstance, 'resources'> => {
  const {cpuShares = 0, cpuQuota = 0, cpuPeriod = 0, memoryLimitInBytes = 0} = linux ?? {};
  if (cpuShares <= 0 && memoryLimitInBytes <= 0 && (cpuQuota <= 0 || cpuPeriod <= 0)) return {};
  return {
    resources: {
      ...(cpuShares > 0 ? {cpuShares} : {}),
      ...(cpuPeriod > 0 ? {cpuQuota, cpuPeriod} : {}),
      ...(memoryLimitInBytes > 0 ? {memoryLimitBytes: memoryLimitInBytes} : {}),
    },
  };
};

/** The status of a container does not name its sandbox: the caller has it from the list. */
export const containerOf = (status: Value<typeof containerStatus> | undefined, sandbox = ''): ContainerInstance => {
  const found = requiredOf(status, 'container status is not set');
  const {startedAt, finishedAt, user, state} = found;
  const {supplementalGroups = [], uid, gid} = user?.linux ?? {};
  return {
    id: found.id,
    sandbox,
    pod: identityOf(found.labels) ?? {uid: '', namespace: '', name: ''},
    ...checkedContainer(found),
    state,
    ...(startedAt === undefined ? {} : {startedAt}),
    // Clock skew within the runtime: a container must not finish before it started.
    ...(finishedAt === undefined ? {} : {finishedAt: Math.max(finishedAt, startedAt ?? 0)}),
    ...(state === 'exited' ? {exitCode: found.exitCode} : {}),
    ...(found.reason ? {reason: found.reason} : {}),
    ...(found.message ? {message: found.message} : {}),
    image: imageSpecOf(found.image),
    imageRef: found.imageRef,
    ...(found.imageId ? {imageId: found.imageId} : {}),
    ...(found.logPath ? {logPath: found.logPath} : {}),
    ...(uid === undefined || gid === undefined ? {} : {user: {uid, gid, supplementalGroups}}),
    annotations: found.annotations,
    ...resourcesOf(found.resources?.linux),
    mounts: found.mounts.map(({containerPath, hostPath, recursiveReadOnly, image}) => ({
      containerPath,
      hostPath,
      ...(recursiveReadOnly ? {recursiveReadonly: true} : {}),
      ...(image ? {image: image.image} : {}),
    })),
  };
};

type Dated = Pick<Sandbox, 'attempt' | 'createdAt'>;

const newestFirst = (one: Dated, other: Dated): number => other.attempt - one.attempt || other.createdAt - one.createdAt;

/** Groups sandboxes and containers by pod, newest first. */
export const groupedByPod = (sandboxes: readonly Sandbox[], containers: readonly ContainerInstance[]): readonly RuntimePod[] => {
  const pods = new Map<string, {pod: PodIdentity; sandboxes: Sandbox[]; containers: ContainerInstance[]}>();
  const of = (pod: PodIdentity) => {
    let found = pods.get(pod.uid);
    if (!found) pods.set(pod.uid, (found = {pod, sandboxes: [], containers: []}));
    return found;
  };
  for (const sandbox of sandboxes) of(sandbox.pod).sandboxes.push(sandbox);
  for (const container of containers) of(container.pod).containers.push(container);
  for (const pod of pods.values()) {
    pod.sandboxes.sort(newestFirst);
    pod.containers.sort((one, other) => other.createdAt - one.createdAt || newestFirst(one, other));
  }
  return [...pods.values()];
};

/** Undefined for events of a sandbox that the runtime no longer knows, and of one that no agent created. */
export const containerEventOf = (event: Value<typeof containerEvent>): ContainerEvent | undefined => {
  const {containerId, containerEventType, createdAt = 0, podSandboxStatus, containersStatuses} = event;
  const sandbox = podSandboxStatus && listedSandbox(podSandboxStatus);
  if (!sandbox) return undefined;
  const containers = containersStatuses.flatMap(status => listedContainer({...status, podSandboxId: sandbox.id}) ?? []);
  return {id: containerId, type: containerEventType, createdAt, sandbox, containers};
};

export const imageOf = ({id, repoTags, repoDigests, size, uid, username, pinned, spec}: Value<typeof image>): Image => ({
  id,
  tags: repoTags,
  digests: repoDigests,
  bytes: size,
  ...(uid === undefined ? {} : {uid}),
  ...(username ? {username} : {}),
  isPinned: pinned,
  ...(spec?.runtimeHandler ? {handler: spec.runtimeHandler} : {}),
});

/** Returns the image of sandboxes from the configuration that containerd reports. */
export const sandboxImageIn = (configuration: string | undefined): string | undefined => {
  try {
    const {sandboxImage} = JSON.parse(configuration ?? '{}') as {readonly sandboxImage?: unknown};
    return typeof sandboxImage === 'string' && sandboxImage !== '' ? sandboxImage : undefined;
  } catch {
    return undefined;
  }
};
