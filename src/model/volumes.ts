import {kinds, type ObjectOf} from '#src/api/kinds.js';
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

/** The annotations by which those who bind claims to volumes tell each other how far they are. */
export const volumeAnnotations = (naming: Naming) => ({
  /** On a claim: the node its volume is to be made for. */
  selectedNode: naming.subKey('volume', 'selected-node'),
  /** On a claim: that it and its volume know of each other. */
  bindCompleted: naming.subKey('pv', 'bind-completed'),
  /** On a volume: that no person chose the claim. */
  boundByController: naming.subKey('pv', 'bound-by-controller'),
});

/** Where the storage class stood before there was a field for it. */
export const classAnnotation = (naming: Naming): string => naming.subKey('volume.beta', 'storage-class');

/** The storage class of a claim or a volume; the annotation counts before the field. */
export const classOf = ({metadata, spec}: {readonly metadata?: Frozen<ObjectMeta>; readonly spec?: {readonly storageClassName?: string}}, naming: Naming): string =>
  metadata?.annotations?.[classAnnotation(naming)] ?? spec?.storageClassName ?? '';

/** Whether claims of a class wait for a pod before they get a volume. */
export const isDelayedBinding = (storageClass: Frozen<StorageClass> | undefined): boolean => storageClass?.volumeBindingMode === 'WaitForFirstConsumer';

/** Whether a claim has its volume and both know it. */
export const isFullyBound = ({metadata, spec}: Frozen<Claim>, naming: Naming): boolean =>
  Boolean(spec?.volumeName) && metadata?.annotations?.[volumeAnnotations(naming).bindCompleted] !== undefined;

/** Whether a volume is promised to this claim, and no other of its name. */
export const isBoundTo = ({spec}: Frozen<Volume>, {metadata}: Frozen<Claim>): boolean => {
  const reference = spec?.claimRef;
  if (!reference || reference.name !== metadata?.name || reference.namespace !== metadata?.namespace) return false;
  return !reference.uid || reference.uid === metadata?.uid;
};

/** Whether a node can reach a volume. */
export const isReachable = ({spec}: Frozen<Volume>, node: Frozen<Node>): boolean => {
  const required = spec?.nodeAffinity?.required;
  return !required || matchesNodeSelector(required, node);
};

const storageOf = (amounts: Readonly<Record<string, string>> | undefined): Quantity => (amounts?.['storage'] ? parseQuantity(amounts['storage']) : zeroQuantity);

/** How much storage a claim asks for. */
export const claimedStorage = ({spec}: Frozen<Claim>): Quantity => storageOf(spec?.resources?.requests);
export const storageCapacity = ({spec}: Frozen<Volume>): Quantity => storageOf(spec?.capacity);

const hasModes = (claim: Frozen<Claim>, volume: Frozen<Volume>): boolean => (claim.spec?.accessModes ?? []).every(mode => volume.spec?.accessModes?.includes(mode));
const sameMode = (claim: Frozen<Claim>, volume: Frozen<Volume>): boolean => (claim.spec?.volumeMode ?? 'Filesystem') === (volume.spec?.volumeMode ?? 'Filesystem');
const sameAttributes = (claim: Frozen<Claim>, volume: Frozen<Volume>): boolean =>
  (claim.spec?.volumeAttributesClassName ?? '') === ((volume.spec as {volumeAttributesClassName?: string} | undefined)?.volumeAttributesClassName ?? '');

export interface VolumeMatchOptions {
  readonly naming: Naming;
  /** The node that is to reach the volume, where a pod is being scheduled. */
  readonly node?: Frozen<Node>;
  /** Names of volumes that are taken by other claims of the pod. */
  readonly excluded?: ReadonlySet<string>;
  /** Whether the claim's class waits for a pod: then nobody but the scheduler, who knows the node, chooses a volume. */
  readonly delayBinding?: boolean;
}

/** Finds a volume for a claim: the one that was made or reserved for it, or the smallest of those that will do. */
export const findMatchingVolume = (claim: Frozen<Claim>, volumes: Iterable<Frozen<Volume>>, {naming, node, excluded, delayBinding}: VolumeMatchOptions): Frozen<Volume> | undefined => {
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

/** The volume as it is once it is promised to the claim; undefined where it is so already. */
export const volumeBoundTo = (volume: Frozen<Volume>, claim: Frozen<Claim>, naming: Naming): Volume | undefined => {
  const {name = '', namespace = '', uid, resourceVersion} = claim.metadata ?? {};
  const before = volume.spec?.claimRef;
  if (before && before.name === name && before.namespace === namespace && before.uid === uid) return undefined;
  const bound = structuredClone(volume) as Volume;
  const key = volumeAnnotations(naming).boundByController;
  // Whose name a person wrote down stays chosen by that person.
  if (!isBoundTo(volume, claim)) bound.metadata = {...bound.metadata, annotations: {...bound.metadata?.annotations, [key]: 'yes'}};
  bound.spec!.claimRef = {kind: 'PersistentVolumeClaim', apiVersion: 'v1', name, namespace, ...(uid ? {uid} : {}), ...(resourceVersion ? {resourceVersion} : {})};
  return bound;
};

/** The name of the claim that a volume of a pod stands for; the claim of an ephemeral volume is named after both. */
export const claimOfVolume = (pod: Frozen<Pod>, volume: NonNullable<NonNullable<Frozen<Pod>['spec']>['volumes']>[number]): string | undefined =>
  volume.persistentVolumeClaim?.claimName ?? (volume.ephemeral ? `${pod.metadata?.name}-${volume.name}` : undefined);
