import type {FilesystemStats, NodeStats, PodStats} from '#src/api/node/stats.js';
import type {Pod} from '#src/api/pod.js';
import {parseQuantity, quantityValue} from '#src/api/quantity.js';

export const bytes = (text: string): number => Number(quantityValue(parseQuantity(text)));

type Amounts = Readonly<Record<string, string>>;

/** A pod with one container, by its requests and limits. */
export const aPod = (
  name: string,
  {
    priority = 0,
    requests = {},
    limits = {},
    ...spec
  }: {priority?: number; requests?: Amounts; limits?: Amounts} & Partial<NonNullable<Pod['spec']>> = {},
): Pod => ({
  metadata: {name, namespace: 'default', uid: name},
  spec: {
    priority,
    containers: [{name: 'app', image: 'app', resources: {requests: {...requests}, limits: {...limits}}}],
    terminationGracePeriodSeconds: 30,
    ...spec,
  },
});

export interface Used {
  readonly memory?: string;
  readonly layer?: string;
  readonly logs?: string;
  readonly volumes?: Readonly<Record<string, string>>;
  readonly inodes?: number;
  readonly processes?: number;
}

const usage = {cpuMillis: 0, cpuSeconds: 0};

/** The measurements of a pod with one container. */
export const podStats = (
  pod: Pod,
  {memory = '0', layer = '0', logs = '0', volumes = {}, inodes = 0, processes = 0}: Used = {},
): PodStats => ({
  ...usage,
  namespace: 'default',
  name: pod.metadata?.name ?? '',
  uid: pod.metadata?.uid ?? '',
  startedAt: 0,
  memoryBytes: bytes(memory),
  processes,
  containers: [
    {
      ...usage,
      name: 'app',
      id: '',
      image: '',
      startedAt: 0,
      probes: [],
      memoryBytes: bytes(memory),
      rootfs: {usedBytes: bytes(layer), inodesUsed: inodes},
      logs: {usedBytes: bytes(logs), inodesUsed: 0},
    },
  ],
  volumes: Object.entries(volumes).map(([name, used]) => ({name, isEphemeral: true, usedBytes: bytes(used), inodesUsed: 1})),
});

const disk = (available: string, inodesFree: number): FilesystemStats => ({
  capacityBytes: bytes('200Gi'),
  availableBytes: bytes(available),
  inodes: 4_000_000,
  inodesFree,
});

export interface Left {
  readonly memory?: string;
  readonly pods?: string;
  readonly nodefs?: string;
  readonly imagefs?: string;
  readonly inodes?: number;
  readonly processes?: number;
}

/** The measurements of a node with 10Gi of memory, disks of 200Gi and 1000 processes, by what is left. */
export const nodeStats = (
  {memory = '8Gi', pods: ofPods = '8Gi', nodefs = '100Gi', imagefs = nodefs, inodes = 3_000_000, processes = 900}: Left = {},
  pods: readonly PodStats[] = [],
  time = 0,
): NodeStats => ({
  ...usage,
  name: 'node',
  time,
  startedAt: 0,
  machine: {id: '', systemId: '', bootId: '', cores: 1, memoryBytes: bytes('10Gi'), storageBytes: 0, imageBytes: 0},
  memoryBytes: bytes('10Gi') - bytes(memory),
  system: [{...usage, name: 'pods', startedAt: 0, memoryBytes: bytes('10Gi') - bytes(ofPods), memory: {availableBytes: bytes(ofPods)}}],
  fs: disk(nodefs, inodes),
  imageFs: disk(imagefs, inodes),
  containerFs: disk(imagefs, inodes),
  processes: {max: 1000, current: 1000 - processes},
  pods,
  known: {pods: pods.length, active: pods.length, containers: {running: pods.length, exited: 0}},
});
