// Which resource claims a pod uses: claims that it names, and claims generated for it from templates, whose names are
// in its status (KEP-3063).

import type {Frozen} from '#src/api/key.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod, PodSpec} from '#src/api/pod.js';
import {controllerOf} from '#src/model/owners.js';

export type DeviceClaim = ObjectOf<typeof kinds.resourceClaims>;

/** An entry of `spec.resourceClaims` of a pod. */
export type PodClaim = Frozen<NonNullable<PodSpec['resourceClaims']>[number]>;

/** The name of a pod's claim, and whether it is generated: only a claim that the pod owns may have this name then. */
export interface PodClaimName {
  readonly name: string;
  readonly generated: boolean;
}

/** Returns the claim of an entry: undefined if none is needed, `'not created'` until a claim is generated. */
export const claimNameOf = (
  {status}: Frozen<Pod>,
  {name, resourceClaimName, resourceClaimTemplateName}: PodClaim,
): PodClaimName | 'not created' | undefined => {
  if (resourceClaimName) return {name: resourceClaimName, generated: false};
  if (!resourceClaimTemplateName) return undefined;
  const made = status?.resourceClaimStatuses?.find(each => each.name === name);
  if (!made) return 'not created';
  return made.resourceClaimName ? {name: made.resourceClaimName, generated: true} : undefined;
};

/** Returns the message about an entry whose claim is not created yet. */
export const notCreatedText = ({metadata}: Frozen<Pod>): string =>
  `pod ${JSON.stringify(`${metadata?.namespace}/${metadata?.name}`)}: ResourceClaim not created yet`;

/** Returns why a generated claim is not the pod's; undefined if it is. */
export const foreignText = (pod: Frozen<Pod>, claim: Frozen<DeviceClaim>): string | undefined => {
  if (controllerOf(claim)?.uid === pod.metadata?.uid) return undefined;
  const at = `${pod.metadata?.namespace}`;
  return `ResourceClaim ${at}/${claim.metadata?.name} was not created for pod ${at}/${pod.metadata?.name} (pod is not owner)`;
};

/** The most pods that may share a resource claim. */
const maxConsumers = 256;

/** Whether the claim is reserved for a pod. */
export const isReservedFor = ({status}: Frozen<DeviceClaim>, uid: string | undefined): boolean =>
  status?.reservedFor?.some(consumer => consumer.uid === uid) ?? false;

/** Whether the claim can be reserved for one more pod. */
export const canBeReserved = ({status}: Frozen<DeviceClaim>): boolean => (status?.reservedFor?.length ?? 0) < maxConsumers;

/** The annotations and the finalizer of claims. */
export const claimKeys = (naming: Naming) => ({
  /** The annotation of generated claims: the name of the pod's entry. */
  podClaim: naming.subKey('resource', 'pod-claim-name'),
  /** The annotation of claims that the scheduler creates for extended resources (KEP-5004). */
  extendedResource: naming.subKey('resource', 'extended-resource-claim'),
  /** The finalizer of allocated claims. */
  finalizer: naming.subKey('resource', 'delete-protection'),
});
export type ClaimKeys = ReturnType<typeof claimKeys>;

/** Whether a claim asks for access to devices that others use (KEP-5018). */
export const asksForAdminAccess = ({devices}: Frozen<DeviceClaim['spec']>): boolean =>
  devices?.requests?.some(({exactly}) => exactly?.adminAccess === true) ?? false;
