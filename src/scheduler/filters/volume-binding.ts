import type {Frozen} from '#src/api/key.js';
import {sameJson} from '#src/api/equal.js';
import {kinds} from '#src/api/kinds.js';
import type {KubeObject} from '#src/api/types.js';
import {classOf, type StorageClass, type Volume} from '#src/model/volumes.js';
import type {Index} from '#informers/lister.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import {ruledOut, type Check, type Cluster, type Filter, type Rejection} from '#src/scheduler/plugin.js';
import {claimsOf, type PodClaims} from '#src/scheduler/volumes/claims.js';
import {planFor, type Supply} from '#src/scheduler/volumes/plan.js';
import type {VolumePlan} from '#src/scheduler/volumes/volume-plan.js';

const byClass = new WeakMap<object, Index<Volume>>();

/** Volumes by their class, as the vocabulary spells it. */
const classIndex = ({naming}: Cluster): Index<Volume> => {
  const index = byClass.get(naming) ?? {name: 'storage class', values: (volume: Frozen<Volume>) => [classOf(volume, naming)]};
  byClass.set(naming, index);
  return index;
};

const supplyFor = ({waiting}: PodClaims, cluster: Cluster): Supply => {
  const {lister, volumes, naming} = cluster;
  const names = new Set(waiting.map(claim => classOf(claim, naming)));
  return new Map([...names].map(name => [name, lister(kinds.persistentVolumes).by(classIndex(cluster), name).map(volume => volumes.volumes.as(volume))]));
};

const prepare = (pod: PodInfo, cluster: Cluster): Check | Rejection | undefined => {
  const claims = claimsOf(pod, cluster);
  if (typeof claims === 'string') return ruledOut(claims);
  if (!claims) return undefined;
  if (claims.late.length > 0) return ruledOut('pod has unbound immediate PersistentVolumeClaims');
  const supply = supplyFor(claims, cluster);
  const isPlan = (outcome: VolumePlan | readonly string[]): outcome is VolumePlan => 'bindings' in outcome;
  return {
    judge(node) {
      const outcome = planFor(claims, supply, node, cluster);
      return isPlan(outcome) ? undefined : ruledOut(...outcome);
    },
    reserve(node) {
      const plan = planFor(claims, supply, node, cluster);
      return isPlan(plan) && plan.bindings.length + plan.provisions.length > 0 ? cluster.volumes.reserve(plan, node.name) : undefined;
    },
  };
};

const isOurs = ({namespace, claims}: PodInfo, claim: Frozen<KubeObject> | undefined): boolean =>
  claim?.metadata?.namespace === namespace && claims.includes(claim.metadata?.name ?? '');

/** Holds a pod to nodes that reach its volumes, or for which they can be made. */
export const volumeBinding: Filter = {
  plugin: 'VolumeBinding',
  prepare,
  hints: [
    {on: ['PersistentVolumeClaimAdd', 'PersistentVolumeClaimUpdate'], helps: (pod, _, now) => isOurs(pod, now)},
    {on: ['PersistentVolumeAdd', 'PersistentVolumeUpdate', 'NodeAdd', 'NodeUpdateNodeLabel', 'CSINodeAdd']},
    {
      on: ['StorageClassAdd', 'StorageClassUpdate'],
      helps: (_, old: Frozen<StorageClass> | undefined, now: Frozen<StorageClass> | undefined) => !old || !sameJson(old.allowedTopologies, now?.allowedTopologies),
    },
    {on: ['CSIStorageCapacityAdd', 'CSIStorageCapacityUpdate', 'CSIDriverUpdate']},
  ],
};
