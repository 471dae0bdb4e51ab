import {Scales} from '#controllers/shared/scale.js';
import type {Lister} from '#informers/lister.js';
import type {Frozen} from '#src/api/key.js';
import {isOfKind, kinds, type Kind} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import type {KubeObject, OwnerReference} from '#src/api/types.js';
import {controllerOf} from '#src/model/owners.js';
import type {KeyedContext} from '#src/runtime/controller.js';

/** The scale of an owner, and its uid: pods of one deployment may belong to several replica sets. */
interface OwnerScale {
  readonly uid: string;
  readonly replicas: number;
}

/** The total scale of the owners of pods, and the pods without an owner. */
export interface Expectation {
  readonly scale: number;
  readonly unmanaged: readonly string[];
}

type WithReplicas = KubeObject & {readonly spec?: {readonly replicas?: number}};

/**
 * Returns the function that determines the scale of pods' owners: built-in kinds from the caches, others by their scale
 * subresource.
 */
export const owners = ({lister, naming, client, clock}: KeyedContext) => {
  const scales = new Scales(client, clock);
  const known = [kinds.replicationControllers, kinds.statefulSets, kinds.replicaSets] as readonly Kind<WithReplicas>[];
  const caches = new Map<Kind, Lister<WithReplicas>>(known.map(kind => [kind, lister(kind)]));
  const deployments = lister(kinds.deployments);
  const found = <T extends WithReplicas>(
    cache: Lister<T>,
    namespace: string,
    {name, uid}: Frozen<OwnerReference>,
  ): Frozen<T> | undefined => {
    const object = cache.get({namespace, name});
    return object?.metadata?.uid === uid ? object : undefined;
  };
  const scaleOf = ({metadata, spec}: Frozen<WithReplicas>): OwnerScale => ({uid: metadata?.uid ?? '', replicas: spec?.replicas ?? 1});

  const scaleOfOwner = async (owner: Frozen<OwnerReference>, namespace: string): Promise<OwnerScale | undefined> => {
    for (const [kind, cache] of caches) {
      if (!isOfKind(owner, kind, naming)) continue;
      const object = found(cache, namespace, owner);
      const above = object && controllerOf(object);
      const deployment = above && isOfKind(above, kinds.deployments, naming) ? found(deployments, namespace, above) : undefined;
      if (object) return scaleOf(deployment ?? object);
    }
    const scale = await scales.get(namespace, owner);
    return scale?.metadata?.uid === owner.uid ? {uid: owner.uid, replicas: scale.spec?.replicas ?? 0} : undefined;
  };

  /** Rejects when an owner cannot be found. */
  return async (pods: readonly Frozen<Pod>[]): Promise<Expectation> => {
    const scalesByOwner = new Map<string, OwnerScale>();
    const unmanaged: string[] = [];
    for (const pod of pods) {
      const owner = controllerOf(pod);
      if (!owner) unmanaged.push(pod.metadata?.name ?? '');
      else if (!scalesByOwner.has(owner.uid)) {
        const scale = await scaleOfOwner(owner, pod.metadata?.namespace ?? '');
        if (!scale) throw new Error(`found no controllers for pod ${JSON.stringify(pod.metadata?.name)}`);
        scalesByOwner.set(owner.uid, scale);
      }
    }
    const distinct = new Map([...scalesByOwner.values()].map(({uid, replicas}) => [uid, replicas]));
    return {scale: [...distinct.values()].reduce((sum, replicas) => sum + replicas, 0), unmanaged};
  };
};
