import {signsVolumes} from '#src/scheduler/signatures/plugin-signatures.js';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {classOf} from '#src/model/volumes.js';
import type {Index} from '#informers/lister.js';
import type {ObjectOf} from '#src/api/kinds/index.js';
import type {NodeInfo} from '#src/scheduler/cache/node-info.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import {unschedulable, type Cluster, type Filter} from '#src/scheduler/framework/plugin.js';
import {classNamed} from '#src/scheduler/volumes/claims.js';

type Attachment = ObjectOf<typeof kinds.volumeAttachments>;

const attachmentsOfNode: Index<Attachment> = {name: 'node', values: ({spec}) => [spec.nodeName]};

/** Returns the driver of each volume of the pod's claims, by a key that identifies the volume. */
const driversOf = ({namespace, claims}: Pick<PodInfo, 'namespace' | 'claims'>, cluster: Cluster): Map<string, string> => {
  const {volumes, naming} = cluster;
  const drivers = new Map<string, string>();
  for (const name of claims) {
    const claim = volumes.claims.get(`${namespace}/${name}`);
    if (!claim) continue;
    const csi = claim.spec?.volumeName ? volumes.volumes.get(claim.spec.volumeName)?.spec?.csi : undefined;
    if (csi) drivers.set(`${csi.driver}/${csi.volumeHandle}`, csi.driver);
    if (claim.spec?.volumeName) continue;
    // A volume to be provisioned will use the driver of its class.
    const driver = classNamed(classOf(claim, naming), cluster)?.provisioner;
    if (driver) drivers.set(`${driver}/${namespace}/${name}`, driver);
  }
  return drivers;
};

/**
 * Returns a driver that a node lacks though it is a CSI driver of the cluster: new nodes of an autoscaler have not
 * reported theirs yet.
 */
const missingDriver = (wanted: Iterable<string>, {name}: NodeInfo, {lister}: Cluster): string | undefined => {
  const installed = lister(kinds.csiNodes).get(name)?.spec.drivers ?? [];
  for (const driver of wanted) if (lister(kinds.csiDrivers).get(driver) && !installed.some(each => each.name === driver)) return driver;
  return undefined;
};

/** Returns the volume limit of each driver on a node, as its CSINode states. */
const limitsOf = ({name}: NodeInfo, {lister}: Cluster): Map<string, number> => {
  const drivers = lister(kinds.csiNodes).get(name)?.spec.drivers ?? [];
  return new Map(
    drivers.flatMap(({name: driver, allocatable}) => (allocatable?.count === undefined ? [] : [[driver, allocatable.count] as const])),
  );
};

/** Returns the volumes attached to a node, or to be attached for the pods on it. */
const attachedTo = (node: NodeInfo, cluster: Cluster): Map<string, string> => {
  const attached = new Map<string, string>();
  for (const other of node.pods.values())
    if (other.claims.length > 0) for (const [volume, driver] of driversOf(other, cluster)) attached.set(volume, driver);
  for (const {spec} of cluster.lister(kinds.volumeAttachments).by(attachmentsOfNode, node.name)) {
    const csi = cluster.volumes.volumes.get(spec.source.persistentVolumeName ?? '')?.spec?.csi;
    if (csi) attached.set(`${csi.driver}/${csi.volumeHandle}`, csi.driver);
  }
  return attached;
};

const countByDriver = (drivers: Iterable<string>): Map<string, number> => {
  const counts = new Map<string, number>();
  for (const driver of drivers) counts.set(driver, (counts.get(driver) ?? 0) + 1);
  return counts;
};

/** Rejects nodes that have reached the volume limit of a driver. */
export const nodeVolumeLimits: Filter = {
  plugin: 'NodeVolumeLimits',
  sign: signsVolumes,
  prepare(pod, cluster) {
    if (pod.claims.length === 0) return undefined;
    const wanted = driversOf(pod, cluster);
    if (wanted.size === 0) return undefined;
    return {
      filter(node) {
        const missing = cluster.gate('VolumeLimitScaling') ? missingDriver(wanted.values(), node, cluster) : undefined;
        if (missing !== undefined) return unschedulable(`${missing} CSI driver is not installed on the node`);
        const limits = limitsOf(node, cluster);
        if (limits.size === 0) return undefined;
        const attached = attachedTo(node, cluster);
        const before = countByDriver(attached.values());
        const added = countByDriver([...wanted].filter(([volume]) => !attached.has(volume)).map(([, driver]) => driver));
        const isFull = [...added].some(([driver, more]) => (before.get(driver) ?? 0) + more > (limits.get(driver) ?? Infinity));
        return isFull ? unschedulable('node(s) exceed max volume count') : undefined;
      },
    };
  },
  hints: [
    {on: ['CSINodeAdd', 'CSINodeUpdate', 'VolumeAttachmentDelete']},
    {
      on: ['AssignedPodDelete'],
      shouldQueue: (_, old: Frozen<Pod> | undefined) =>
        old?.spec?.volumes?.some(({persistentVolumeClaim, ephemeral}) => persistentVolumeClaim ?? ephemeral) ?? false,
    },
    {
      on: ['PersistentVolumeClaimAdd'],
      shouldQueue: ({namespace, claims}, _, now) => now?.metadata?.namespace === namespace && claims.includes(now.metadata?.name ?? ''),
    },
  ],
};
