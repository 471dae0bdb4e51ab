// Facts about claims, volumes and storage classes that the volume controllers, the scheduler and admission share. Pure
// functions over objects.

import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {compareQuantities, parseQuantity, zeroQuantity, type Quantity} from '#src/api/quantity.js';
import {labelSelectorOf} from '#src/api/selectors/label-selector.js';
import type {Node, ObjectMeta} from '#src/api/types.js';
import {matchesNodeSelector} from './node-affinity.js';

export type Claim = ObjectOf<typeof kinds.persistentVolumeClaims>;
export type Volume = ObjectOf<typeof kinds.persistentVolumes>;
export type StorageClass = ObjectOf<typeof kinds.storageClasses>;

/** Annotations of claims and volumes. */
export const volumeAnnotations = (naming: Naming) => ({
  /** On a claim: the node for which the volume is to be provisioned. */
  selectedNode: naming.subKey('volume', 'selected-node'),
  /** On a claim: binding is complete. */
  bindCompleted: naming.subKey('pv', 'bind-completed'),
  /** On a volume: the controller chose the claim, not a user. */
  boundByController: naming.subKey('pv', 'bound-by-controller'),
  /** On a volume: the provisioner that created it. */
  provisionedBy: naming.subKey('pv', 'provisioned-by'),
  /** On a volume: the driver that an in-tree volume is handled by. */
  migratedTo: naming.subKey('pv', 'migrated-to'),
  /** On a claim: the provisioner that is to create its volume; external provisioners read either. */
  provisioner: naming.subKey('volume', 'storage-provisioner'),
  betaProvisioner: naming.subKey('volume.beta', 'storage-provisioner'),
  /** On a claim: the driver that is to expand its volume. */
  resizer: naming.subKey('volume', 'storage-resizer'),
  /** On a volume: its capacity before an expansion whose file system work is left to the node. */
  preResizeCapacity: naming.subKey('volume.alpha', 'pre-resize-capacity'),
});

/** The beta annotation for the storage class. */
export const classAnnotation = (naming: Naming): string => naming.subKey('volume.beta', 'storage-class');

/** Returns the storage class of a claim or a volume. The annotation takes precedence over the field. */
export const classOf = (
  {metadata, spec}: {readonly metadata?: Frozen<ObjectMeta>; readonly spec?: {readonly storageClassName?: string}},
  naming: Naming,
): string => metadata?.annotations?.[classAnnotation(naming)] ?? spec?.storageClassName ?? '';

/** Whether a claim states a storage class, be it the empty one. */
export const statesClass = ({metadata, spec}: Frozen<Claim>, naming: Naming): boolean =>
  metadata?.annotations?.[classAnnotation(naming)] !== undefined || spec?.storageClassName !== undefined;

/** Whether binding is delayed until a pod uses the claim. */
export const isDelayedBinding = (storageClass: Frozen<StorageClass> | undefined): boolean =>
  storageClass?.volumeBindingMode === 'WaitForFirstConsumer';

/** Whether a claim is bound and binding is complete. */
export const isFullyBound = ({metadata, spec}: Frozen<Claim>, naming: Naming): boolean =>
  Boolean(spec?.volumeName) && metadata?.annotations?.[volumeAnnotations(naming).bindCompleted] !== undefined;

/** Whether a volume is bound to this claim, compared by UID if set. */
export const isBoundTo = ({spec}: Frozen<Volume>, {metadata}: Frozen<Claim>): boolean => {
  const reference = spec?.claimRef;
  if (!reference || reference.name !== metadata?.name || reference.namespace !== metadata?.namespace) return false;
  return !reference.uid || reference.uid === metadata?.uid;
};

/** Whether a volume is accessible from a node, by its node affinity. */
export const isReachable = ({spec}: Frozen<Volume>, node: Frozen<Node>): boolean => {
  const required = spec?.nodeAffinity?.required;
  return !required || matchesNodeSelector(required, node);
};

const storageOf = (amounts: Readonly<Record<string, string>> | undefined): Quantity =>
  amounts?.['storage'] ? parseQuantity(amounts['storage']) : zeroQuantity;

/** Returns the storage that a claim requests. */
export const claimedStorage = ({spec}: Frozen<Claim>): Quantity => storageOf(spec?.resources?.requests);
/** Returns the storage of a volume. */
export const storageCapacity = ({spec}: Frozen<Volume>): Quantity => storageOf(spec?.capacity);

const hasModes = (claim: Frozen<Claim>, volume: Frozen<Volume>): boolean =>
  (claim.spec?.accessModes ?? []).every(mode => volume.spec?.accessModes?.includes(mode));
/** Whether claim and volume agree on file system or block device. */
export const sameMode = (claim: Frozen<Claim>, volume: Frozen<Volume>): boolean =>
  (claim.spec?.volumeMode ?? 'Filesystem') === (volume.spec?.volumeMode ?? 'Filesystem');
const sameAttributes = (claim: Frozen<Claim>, volume: Frozen<Volume>): boolean =>
  (claim.spec?.volumeAttributesClassName ?? '') ===
  ((volume.spec as {volumeAttributesClassName?: string} | undefined)?.volumeAttributesClassName ?? '');

/** Returns why a claim cannot use the volume that it names; undefined if it can. */
export const volumeMismatch = (volume: Frozen<Volume>, claim: Frozen<Claim>, naming: Naming): string | undefined => {
  if (volume.metadata?.deletionTimestamp) return `the volume is marked for deletion ${JSON.stringify(volume.metadata.name)}`;
  if (compareQuantities(storageCapacity(volume), claimedStorage(claim)) < 0) return 'requested PV is too small';
  if (classOf(volume, naming) !== classOf(claim, naming)) return 'storageClassName does not match';
  if (!sameAttributes(claim, volume)) return 'volumeAttributesClassName does not match';
  if (!sameMode(claim, volume)) return 'incompatible volumeMode';
  return hasModes(claim, volume) ? undefined : 'incompatible accessMode';
};

export interface VolumeMatchOptions {
  readonly naming: Naming;
  /** The node that must be able to access the volume, during scheduling. */
  readonly node?: Frozen<Node>;
  /** Names of volumes assigned to other claims of the pod. */
  readonly excluded?: ReadonlySet<string>;
  /** Whether binding is delayed: only the scheduler, which knows the node, may choose a volume. */
  readonly delayBinding?: boolean;
}

/** Returns a volume for a claim: the one that is bound to it already, or the smallest that matches. */
export const findMatchingVolume = (
  claim: Frozen<Claim>,
  volumes: Iterable<Frozen<Volume>>,
  {naming, node, excluded, delayBinding}: VolumeMatchOptions,
): Frozen<Volume> | undefined => {
  const requestedSize = claimedStorage(claim);
  const requestedClass = classOf(claim, naming);
  const selector = claim.spec?.selector ? labelSelectorOf(claim.spec.selector) : undefined;
  let smallest: Frozen<Volume> | undefined;
  for (const volume of volumes) {
    const {metadata, spec, status} = volume;
    const isBound = isBoundTo(volume, claim);
    if (excluded?.has(metadata?.name ?? '') || (spec?.claimRef && !isBound)) continue;
    if (metadata?.deletionTimestamp || !sameMode(claim, volume) || !sameAttributes(claim, volume)) continue;
    const size = storageCapacity(volume);
    if (compareQuantities(size, requestedSize) < 0) continue;
    const reachable = !node || isReachable(volume, node);
    if (isBound) return reachable ? volume : undefined;
    if (!reachable || (!node && delayBinding)) continue;
    if (status?.phase !== 'Available' || classOf(volume, naming) !== requestedClass) continue;
    if ((selector && !selector.matches(metadata?.labels)) || !hasModes(claim, volume)) continue;
    if (!smallest || compareQuantities(size, storageCapacity(smallest)) < 0) smallest = volume;
  }
  return smallest;
};

/** Returns the volume with a reference to the claim; undefined if it has one already. */
export const volumeBoundTo = (volume: Frozen<Volume>, claim: Frozen<Claim>, naming: Naming): Volume | undefined => {
  const {name = '', namespace = '', uid, resourceVersion} = claim.metadata ?? {};
  const before = volume.spec?.claimRef;
  if (before && before.name === name && before.namespace === namespace && before.uid === uid) return undefined;
  const bound = structuredClone(volume) as Volume;
  const key = volumeAnnotations(naming).boundByController;
  // A volume that a user bound to the claim is not marked as bound by the controller.
  if (!isBoundTo(volume, claim)) bound.metadata = {...bound.metadata, annotations: {...bound.metadata?.annotations, [key]: 'yes'}};
  bound.spec!.claimRef = {
    kind: 'PersistentVolumeClaim',
    apiVersion: 'v1',
    name,
    namespace,
    ...(uid ? {uid} : {}),
    ...(resourceVersion ? {resourceVersion} : {}),
  };
  return bound;
};

/**
 * Returns the name of the claim that a pod's volume uses. The claim of an ephemeral volume is named after pod and
 * volume.
 */
export const claimOfVolume = (
  pod: Frozen<Pod>,
  volume: NonNullable<NonNullable<Frozen<Pod>['spec']>['volumes']>[number],
): string | undefined => volume.persistentVolumeClaim?.claimName ?? (volume.ephemeral ? `${pod.metadata?.name}-${volume.name}` : undefined);
