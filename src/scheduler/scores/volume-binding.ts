import {signsVolumes} from '#src/scheduler/signatures/plugin-signatures.js';
import type {Frozen} from '#src/api/key.js';
import {parseQuantity, quantityNumber} from '#src/api/quantity.js';
import {claimedStorage, classOf, storageCapacity, type Claim} from '#src/model/volumes.js';
import type {NodeInfo} from '#src/scheduler/cache/node-info.js';
import type {Cluster, Score} from '#src/scheduler/framework/plugin.js';
import {claimsOf, classNamed} from '#src/scheduler/volumes/claims.js';
import {availableVolumesFor} from '#src/scheduler/volumes/available.js';
import {capacityFor, planFor} from '#src/scheduler/volumes/plan.js';
import type {VolumePlan} from '#src/scheduler/volumes/volume-plan.js';
import {requestedToCapacityRatio} from './allocation-strategy.js';
import {maxNodeScore} from './normalize.js';

interface ClassUsage {
  requested: number;
  capacity: number;
}

/** The less of the storage is left afterwards, the lower the score. */
const scoreOf = requestedToCapacityRatio([
  {utilization: 0, score: maxNodeScore},
  {utilization: 100, score: 0},
]);

/** What existing volumes are used for, by class. */
const boundUsage = ({bindings}: VolumePlan, {naming}: Cluster): ReadonlyMap<string, ClassUsage> => {
  const usage = new Map<string, ClassUsage>();
  for (const {claim, volume} of bindings) {
    const name = classOf(volume, naming);
    const {requested, capacity} = usage.get(name) ?? {requested: 0, capacity: 0};
    usage.set(name, {
      requested: requested + quantityNumber(claimedStorage(claim)),
      capacity: capacity + quantityNumber(storageCapacity(volume)),
    });
  }
  return usage;
};

/** What new volumes need of the capacity that drivers report for the node, by class. */
const provisionedUsage = ({provisions}: VolumePlan, node: NodeInfo, cluster: Cluster): ReadonlyMap<string, ClassUsage> => {
  const usage = new Map<string, ClassUsage>();
  for (const claim of provisions) {
    const name = classOf(claim, cluster.naming);
    const found = capacityOf(claim, name, node, cluster);
    if (found === undefined) continue;
    // The volumes of a class share its capacity.
    usage.set(name, {requested: (usage.get(name)?.requested ?? 0) + quantityNumber(claimedStorage(claim)), capacity: found});
  }
  return usage;
};

const capacityOf = (claim: Frozen<Claim>, className: string, node: NodeInfo, cluster: Cluster): number | undefined => {
  const storageClass = classNamed(className, cluster);
  const found = storageClass && capacityFor(claim, storageClass, node, cluster);
  return found && found !== 'unlimited' ? quantityNumber(parseQuantity(found.capacity ?? '0')) : undefined;
};

/** Scores nodes by the storage that is left of the volumes or capacities which the pod would use there. */
export const volumeBindingScore: Score = {
  plugin: 'VolumeBinding',
  sign: signsVolumes,
  weight: 1,
  prepare(pod, _, cluster) {
    if (pod.claims.length === 0 || !cluster.gate('StorageCapacityScoring')) return undefined;
    const claims = claimsOf(pod, cluster);
    if (!claims || typeof claims === 'string') return undefined;
    const available = availableVolumesFor(claims, cluster);
    return {
      score(node) {
        const plan = planFor(claims, available, node, cluster);
        if (!('bindings' in plan)) return 0;
        const usage = plan.bindings.length > 0 ? boundUsage(plan, cluster) : provisionedUsage(plan, node, cluster);
        if (usage.size === 0) return 0;
        const sum = [...usage.values()].reduce((all, {requested, capacity}) => all + scoreOf(requested, capacity), 0);
        return Math.round(sum / usage.size);
      },
    };
  },
};
