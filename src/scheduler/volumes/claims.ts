import type {Lister} from '#informers/lister.js';
import type {Source} from '#informers/selection.js';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod, Volume as PodVolume} from '#src/api/pod.js';
import type {KubeObject} from '#src/api/types.js';
import {claimOfVolume, classOf, isFullyBound, isDelayedBinding, type Claim, type StorageClass} from '#src/model/volumes.js';
import {type PodInfo} from '#src/scheduler/cache/pod-info.js';
import type {VolumeBinder} from './binder.js';

/** The cluster state that decisions on volumes are made from. */
export interface VolumeContext {
  readonly naming: Naming;
  readonly volumes: VolumeBinder;
  lister<T extends KubeObject>(source: Source<T>): Lister<T>;
}

/** The claims of a pod, by binding state. */
export interface PodClaims {
  readonly bound: readonly Frozen<Claim>[];
  /** Claims that are bound once their pod is scheduled (WaitForFirstConsumer). */
  readonly unboundDelayed: readonly Frozen<Claim>[];
  /** Claims that should be bound already. */
  readonly unboundImmediate: readonly Frozen<Claim>[];
}

const quoted = (text: string | undefined): string => JSON.stringify(text ?? '');

/** Returns why a pod cannot use the claim of a volume. */
const claimRejection = (
  pod: Frozen<Pod>,
  volume: Frozen<PodVolume>,
  name: string,
  claim: Frozen<Claim> | undefined,
): string | undefined => {
  if (!claim)
    return volume.ephemeral
      ? `waiting for ephemeral volume controller to create the persistentvolumeclaim ${quoted(name)}`
      : `persistentvolumeclaim ${quoted(name)} not found`;
  const {metadata, spec, status} = claim;
  if (status?.phase === 'Lost')
    return `persistentvolumeclaim ${quoted(name)} bound to non-existent persistentvolume ${quoted(spec?.volumeName)}`;
  if (metadata?.deletionTimestamp) return `persistentvolumeclaim ${quoted(name)} is being deleted`;
  const isOwned = metadata?.ownerReferences?.some(({controller, uid}) => controller && uid === pod.metadata?.uid);
  return volume.ephemeral && !isOwned
    ? `PVC ${metadata?.namespace}/${name} was not created for pod ${pod.metadata?.namespace}/${pod.metadata?.name} (pod is not owner)`
    : undefined;
};

export const classNamed = (name: string, {lister}: VolumeContext): Frozen<StorageClass> | undefined =>
  lister(kinds.storageClasses).get(name);

/** Returns the claims of a pod by state, or the reason why it cannot use one; undefined if it has none. */
export const claimsOf = ({pod, namespace}: PodInfo, cluster: VolumeContext): PodClaims | string | undefined => {
  const {naming, volumes} = cluster;
  const claims: Frozen<Claim>[] = [];
  for (const volume of pod.spec?.volumes ?? []) {
    const name = claimOfVolume(pod, volume);
    if (name === undefined) continue;
    const claim = volumes.claims.get(`${namespace}/${name}`);
    const text = claimRejection(pod, volume, name, claim);
    if (text !== undefined) return text;
    claims.push(claim!);
  }
  if (claims.length === 0) return undefined;
  const bound = claims.filter(claim => isFullyBound(claim, naming));
  const others = claims.filter(claim => !bound.includes(claim));
  const unboundDelayed = others.filter(claim => !claim.spec?.volumeName && isDelayedBinding(classNamed(classOf(claim, naming), cluster)));
  return {bound, unboundDelayed, unboundImmediate: others.filter(claim => !unboundDelayed.includes(claim))};
};
