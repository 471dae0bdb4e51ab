import type {Frozen} from '#src/api/key.js';
import {apiVersionOf, kinds, type Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import type {KubeObject, OwnerReference} from '#src/api/types.js';
import {controllerRefTo} from '#src/model/owners.js';
import type {Claim, StatefulSet} from './kinds.js';
import {isInRange, ordinalOf} from './ordinals.js';

/**
 * A claim with its possible owners: the set, to be deleted with the set, or the pod, to be deleted when scaled down.
 */
export interface ClaimOwnership {
  readonly claim: Frozen<Claim>;
  readonly set: StatefulSet;
  /** May not exist yet. */
  readonly pod: Frozen<Pod>;
  readonly naming: Naming;
}

type Reference = Frozen<OwnerReference>;

const policyOf = ({spec}: StatefulSet): {deletes: boolean; scales: boolean} => {
  const {whenDeleted, whenScaled} = spec?.persistentVolumeClaimRetentionPolicy ?? {};
  return {deletes: whenDeleted === 'Delete', scales: whenScaled === 'Delete'};
};

/** Whether claims are deleted when their pods are scaled down. */
export const isDeletedWithPods = (set: StatefulSet): boolean => policyOf(set).scales;

const refersTo = (reference: Reference, owner: Frozen<KubeObject>, kind: Kind, naming: Naming): boolean =>
  reference.apiVersion === apiVersionOf(naming, kind) && reference.kind === kind.kind && reference.name === owner.metadata?.name;

const isOf = (reference: Reference, owner: Frozen<KubeObject>): boolean => reference.uid === owner.metadata?.uid;

const referencesOf = ({claim}: ClaimOwnership): readonly Reference[] => claim.metadata?.ownerReferences ?? [];

const isOurs = (reference: Reference, {set, pod, naming}: ClaimOwnership): boolean =>
  refersTo(reference, set, kinds.statefulSets, naming) || refersTo(reference, pod, kinds.pods, naming);

/** Whether the claim belongs to an earlier object with the owner's name. */
const isStaleFor = (ownership: ClaimOwnership, owner: Frozen<KubeObject>, kind: Kind): boolean => {
  const reference = referencesOf(ownership).find(each => refersTo(each, owner, kind, ownership.naming));
  return reference !== undefined && !isOf(reference, owner);
};

/** Whether the claim belongs to an earlier pod of that name, and will be deleted. */
export const isStaleForPod = (ownership: ClaimOwnership): boolean => isStaleFor(ownership, ownership.pod, kinds.pods);

/** Whether the claim has another controller, which conflicts with the retention policy. */
export const hasForeignController = (ownership: ClaimOwnership): boolean => {
  const {set, pod} = ownership;
  const {deletes, scales} = policyOf(set);
  if (!deletes && !scales) return false;
  return referencesOf(ownership).some(reference =>
    isOurs(reference, ownership) ? !isOf(reference, set) && !isOf(reference, pod) : reference.controller === true,
  );
};

/** Returns which owners the claim is to have. */
const owners = ({set, pod}: ClaimOwnership): {readonly set: boolean; readonly pod: boolean} => {
  const {deletes, scales} = policyOf(set);
  const ordinal = ordinalOf(pod.metadata?.name ?? '');
  const isAway = ordinal === undefined || !isInRange(ordinal, set);
  return {set: deletes && !(scales && isAway), pod: scales && isAway};
};

/** Whether the claim has the owners that the policy requires, or should be left alone. */
export const hasRightOwners = (ownership: ClaimOwnership): boolean => {
  const {set, pod} = ownership;
  const references = referencesOf(ownership);
  const [bySet, byPod] = [set, pod].map(owner => references.find(reference => isOf(reference, owner)));
  if (isStaleFor(ownership, set, kinds.statefulSets) || isStaleForPod(ownership)) return true;
  if (hasForeignController(ownership)) return !bySet && !byPod;
  if ([bySet, byPod].some(reference => reference && !reference.controller)) return false;
  const desired = owners(ownership);
  return Boolean(bySet) === desired.set && Boolean(byPod) === desired.pod;
};

/** Returns the owner references of the claim: others are kept, and none is added besides a foreign controller. */
export const rightOwners = (ownership: ClaimOwnership): OwnerReference[] => {
  const {set, pod, naming} = ownership;
  const others = referencesOf(ownership).filter(reference => !isOurs(reference, ownership)) as OwnerReference[];
  if (hasForeignController(ownership)) return others;
  const desired = owners(ownership);
  return [
    ...others,
    ...(desired.set ? [controllerRefTo(set, kinds.statefulSets, naming)] : []),
    ...(desired.pod ? [controllerRefTo(pod, kinds.pods, naming)] : []),
  ];
};
