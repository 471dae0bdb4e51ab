import {signsVolumes} from '#src/scheduler/signatures/plugin-signatures.js';
import type {Frozen} from '#src/api/key.js';
import {sameJson} from '#src/api/equal.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {compareQuantities, parseQuantity, zeroQuantity, type Quantity} from '#src/api/quantity.js';
import type {KubeObject} from '#src/api/types.js';
import type {StorageClass} from '#src/model/volumes.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import {unresolvable, type PreparedFilter, type Cluster, type Filter, type Rejection} from '#src/scheduler/framework/plugin.js';
import {claimsOf} from '#src/scheduler/volumes/claims.js';
import {availableVolumesFor} from '#src/scheduler/volumes/available.js';
import {planFor} from '#src/scheduler/volumes/plan.js';
import type {VolumePlan} from '#src/scheduler/volumes/volume-plan.js';

type StorageCapacity = ObjectOf<typeof kinds.csiStorageCapacities>;
type Driver = ObjectOf<typeof kinds.csiDrivers>;

const prepare = (pod: PodInfo, cluster: Cluster): PreparedFilter | Rejection | undefined => {
  const claims = claimsOf(pod, cluster);
  if (typeof claims === 'string') return unresolvable(claims);
  if (!claims) return undefined;
  if (claims.unboundImmediate.length > 0) return unresolvable('pod has unbound immediate PersistentVolumeClaims');
  const available = availableVolumesFor(claims, cluster);
  const isPlan = (outcome: VolumePlan | readonly string[]): outcome is VolumePlan => 'bindings' in outcome;
  return {
    filter(node) {
      const outcome = planFor(claims, available, node, cluster);
      return isPlan(outcome) ? undefined : unresolvable(...outcome);
    },
    reserve(node) {
      const plan = planFor(claims, available, node, cluster);
      return isPlan(plan) && plan.bindings.length + plan.provisions.length > 0 ? cluster.volumes.reserve(plan, node.name) : undefined;
    },
  };
};

const isPodClaim = ({namespace, claims}: PodInfo, claim: Frozen<KubeObject> | undefined): boolean =>
  claim?.metadata?.namespace === namespace && claims.includes(claim.metadata?.name ?? '');

/** The size of the largest volume that can be provisioned. */
const largestVolume = (from: Frozen<StorageCapacity> | undefined): Quantity => {
  const size = from?.maximumVolumeSize ?? from?.capacity;
  return size === undefined ? zeroQuantity : parseQuantity(size);
};

/** Restricts a pod to nodes that can access its volumes, or for which they can be provisioned. */
export const volumeBinding: Filter = {
  plugin: 'VolumeBinding',
  sign: signsVolumes,
  prepare,
  hints: [
    {on: ['PersistentVolumeClaimAdd', 'PersistentVolumeClaimUpdate'], shouldQueue: (pod, _, now) => isPodClaim(pod, now)},
    {on: ['PersistentVolumeAdd', 'PersistentVolumeUpdate', 'NodeAdd', 'NodeUpdateNodeLabel', 'CSINodeAdd', 'CSIStorageCapacityAdd']},
    {
      on: ['StorageClassAdd', 'StorageClassUpdate'],
      shouldQueue: (_, old: Frozen<StorageClass> | undefined, now: Frozen<StorageClass> | undefined) =>
        !old || !sameJson(old.allowedTopologies, now?.allowedTopologies),
    },
    {
      on: ['CSIStorageCapacityUpdate'],
      shouldQueue: (_, old: Frozen<StorageCapacity> | undefined, now: Frozen<StorageCapacity> | undefined) =>
        compareQuantities(largestVolume(now), largestVolume(old)) > 0,
    },
    {
      on: ['CSIDriverUpdate'],
      shouldQueue: (_, old: Frozen<Driver> | undefined, now: Frozen<Driver> | undefined) =>
        old?.spec.storageCapacity === true && now?.spec.storageCapacity !== true,
    },
  ],
};
