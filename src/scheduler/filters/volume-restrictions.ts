import {signsVolumes} from '#src/scheduler/signatures/plugin-signatures.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod, Volume as PodVolume} from '#src/api/pod.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import {unschedulable, unresolvable, type Cluster, type Filter} from '#src/scheduler/framework/plugin.js';

/** Returns a key for the disk of a volume type that can be attached once, and whether the pod only reads it. */
const diskOf = ({
  gcePersistentDisk: gce,
  awsElasticBlockStore: aws,
  iscsi,
}: Frozen<PodVolume>): {readonly disk: string; readonly reads: boolean} | undefined => {
  if (gce) return {disk: `gce ${gce.pdName}`, reads: gce.readOnly ?? false};
  if (aws) return {disk: `aws ${aws.volumeID}`, reads: false};
  if (iscsi) return {disk: `iscsi ${iscsi.iqn}`, reads: iscsi.readOnly ?? false};
  return undefined;
};

const sharesCluster = (a: Frozen<PodVolume>, b: Frozen<PodVolume>): boolean => {
  if (!a.rbd || !b.rbd || (a.rbd.readOnly && b.rbd.readOnly)) return false;
  const [one, other] = [a.rbd, b.rbd];
  return (
    one.monitors.some(monitor => other.monitors.includes(monitor)) &&
    (one.pool ?? 'rbd') === (other.pool ?? 'rbd') &&
    one.image === other.image
  );
};

const disksConflict = (a: Frozen<PodVolume>, b: Frozen<PodVolume>): boolean => {
  const [one, other] = [diskOf(a), diskOf(b)];
  if (one && other) return one.disk === other.disk && !(one.reads && other.reads);
  return sharesCluster(a, b);
};

const volumesOf = ({spec}: Frozen<Pod>): readonly Frozen<PodVolume>[] => spec?.volumes ?? [];
const isDisk = (volume: Frozen<PodVolume>): boolean => diskOf(volume) !== undefined || volume.rbd !== undefined;

/** Returns the pod's claims with the access mode ReadWriteOncePod. */
const exclusiveClaims = ({pod, namespace}: PodInfo, {volumes}: Cluster): string[] | string => {
  const names: string[] = [];
  for (const {persistentVolumeClaim} of volumesOf(pod)) {
    if (!persistentVolumeClaim) continue;
    const name = persistentVolumeClaim.claimName;
    const claim = volumes.claims.get(`${namespace}/${name}`);
    if (!claim) return `persistentvolumeclaim ${JSON.stringify(name)} not found`;
    if (claim.spec?.accessModes?.includes('ReadWriteOncePod')) names.push(name);
  }
  return names;
};

const uses = (other: PodInfo, {namespace}: PodInfo, exclusive: readonly string[]): number =>
  other.namespace === namespace ? exclusive.filter(name => other.claims.includes(name)).length : 0;

/**
 * Rejects nodes where a disk of the pod is in use, and every node while another pod uses one of its ReadWriteOncePod
 * claims.
 */
export const volumeRestrictions: Filter = {
  plugin: 'VolumeRestrictions',
  sign: signsVolumes,
  prepare(pod, cluster) {
    const exclusive = exclusiveClaims(pod, cluster);
    if (typeof exclusive === 'string') return unresolvable(exclusive);
    const disks = volumesOf(pod.pod).filter(isDisk);
    if (exclusive.length === 0 && disks.length === 0) return undefined;
    let inUse = 0;
    for (const name of exclusive) for (const node of cluster.nodes) inUse += node.claims.get(`${pod.namespace}/${name}`) ?? 0;
    return {
      filter({pods}) {
        for (const other of disks.length > 0 ? pods.values() : []) {
          if (volumesOf(other.pod).some(existing => disks.some(requested => disksConflict(requested, existing))))
            return unschedulable('node(s) had no available disk');
        }
        return inUse > 0
          ? unschedulable(
              'node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod',
            )
          : undefined;
      },
      add: other => void (inUse += uses(other, pod, exclusive)),
      remove: other => void (inUse -= uses(other, pod, exclusive)),
    };
  },
  hints: [
    {on: ['AssignedPodDelete'], shouldQueue: (pod, old: Frozen<Pod> | undefined) => old !== undefined && frees(pod, old)},
    {on: ['NodeAdd']},
    {
      on: ['PersistentVolumeClaimAdd', 'PersistentVolumeClaimUpdate'],
      shouldQueue: ({namespace, claims}, _, now) => now?.metadata?.namespace === namespace && claims.includes(now.metadata?.name ?? ''),
    },
  ],
};

/** Whether a deleted pod used a disk or a claim of this one. */
const frees = (pod: PodInfo, old: Frozen<Pod>): boolean => {
  const existing = volumesOf(old);
  if (volumesOf(pod.pod).some(requested => existing.some(other => disksConflict(requested, other)))) return true;
  return (
    old.metadata?.namespace === pod.namespace &&
    existing.some(({persistentVolumeClaim}) => persistentVolumeClaim && pod.claims.includes(persistentVolumeClaim.claimName))
  );
};
