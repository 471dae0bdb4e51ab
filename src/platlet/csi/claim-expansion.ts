// The expansion of a volume on its node, as pure functions over its claim.

import type {Frozen} from '#src/api/key.js';
import {compareQuantities, parseQuantity, zeroQuantity, type Quantity} from '#src/api/quantity.js';
import {wireTime} from '#src/api/time.js';
import type {Claim} from '#src/model/volumes.js';

type ClaimStatus = NonNullable<Claim['status']>;
type ClaimCondition = NonNullable<ClaimStatus['conditions']>[number];

const quantityOf = (text: string | undefined): Quantity => (text ? parseQuantity(text) : zeroQuantity);
const isLess = (one: Quantity, other: Quantity): boolean => compareQuantities(one, other) < 0;

/** What a node knows of an expansion. */
export interface ExpansionState {
  readonly claim: Frozen<Claim>;
  /** The size of the persistent volume. */
  readonly volumeSize: string;
  /** Whether an earlier attempt on this node failed for good. */
  readonly hasFailed: boolean;
  /** Whether a claim with this annotation needs no expansion on nodes. */
  readonly notRequiredAnnotation: string;
}

/** What a node does for an expansion. */
export interface ExpansionPlan {
  /** `wait`: the controller is not done. `done`: nothing is left to do on this node. */
  readonly step: 'expand' | 'wait' | 'done';
  readonly size: string;
  /** Whether the claim shows the size already, since another node has expanded it. */
  readonly isShown: boolean;
  /** Whether the controller records its progress in the claim; older ones do not. */
  readonly isRecorded: boolean;
  /** Whether a final error makes the expansion infeasible: the user wants another size by now. */
  readonly infeasibleOnFailure: boolean;
}

/** Decides how a volume is expanded that is larger than its node knows it. */
export const planExpansion = ({claim, volumeSize, hasFailed, notRequiredAnnotation}: ExpansionState): ExpansionPlan => {
  const {allocatedResources, allocatedResourceStatuses, capacity} = claim.status ?? {};
  const state = allocatedResourceStatuses?.['storage'];
  const shown = quantityOf(capacity?.['storage']);
  if (!state && !allocatedResources) {
    const isShown = !isLess(shown, quantityOf(volumeSize));
    return {step: 'expand', size: volumeSize, isShown, isRecorded: false, infeasibleOnFailure: false};
  }
  const size = allocatedResources?.['storage'] ?? '0';
  const isShown = !state && !isLess(shown, quantityOf(size));
  const wanted = quantityOf(claim.spec?.resources?.requests?.['storage']);
  const infeasibleOnFailure = hasFailed && compareQuantities(wanted, quantityOf(size)) !== 0;
  const isShared = claim.spec?.accessModes?.includes('ReadWriteMany') ?? false;
  const isPending = state === 'NodeResizePending' || state === 'NodeResizeInProgress';
  const expandsAgain = isShown && isShared && claim.metadata?.annotations?.[notRequiredAnnotation] === undefined;
  const step = isPending || expandsAgain ? 'expand' : isShown ? 'done' : 'wait';
  return {step, size, isShown, isRecorded: true, infeasibleOnFailure};
};

/** Whether a volume is larger than it is known to be. */
export const isLarger = (size: string | undefined, known: string | undefined): boolean => isLess(quantityOf(known), quantityOf(size));

const resizeConditions: ReadonlySet<string> = new Set(['Resizing', 'FileSystemResizePending', 'ControllerResizeError', 'NodeResizeError']);

const conditionsOf = ({status}: Frozen<Claim>): ClaimCondition[] => structuredClone(status?.conditions ?? []) as ClaimCondition[];

const withoutStorage = (statuses: Readonly<Record<string, string>> | undefined): Record<string, string | null> => ({
  ...statuses,
  storage: null as never,
});

/** Returns the status patch (merge) of a claim whose expansion begins on a node. */
export const expansionBegun = () => ({allocatedResourceStatuses: {storage: 'NodeResizeInProgress'}});

/** Returns the status patch (merge) of a claim whose expansion is done. */
export const expansionDone = (claim: Frozen<Claim>, size: string) => {
  const others = conditionsOf(claim).filter(({type}) => !resizeConditions.has(type));
  return {
    capacity: {storage: size},
    allocatedResourceStatuses: withoutStorage(claim.status?.allocatedResourceStatuses),
    conditions: others.length > 0 ? others : null,
  };
};

/** Returns the status patch (merge) of a claim whose expansion has failed on a node, for good if it is infeasible. */
export const expansionFailed = (claim: Frozen<Claim>, message: string, isInfeasible: boolean, now: number) => {
  const before = conditionsOf(claim);
  const known = before.find(({type}) => type === 'NodeResizeError');
  const text = `failed to expand pvc with ${message}`;
  const condition = {type: 'NodeResizeError', status: 'True', lastTransitionTime: wireTime(now), message: text};
  const kept = known?.status === 'True' ? known : condition;
  return {
    ...(isInfeasible ? {allocatedResourceStatuses: {storage: 'NodeResizeInfeasible'}} : {}),
    conditions: known ? before.map(each => (each === known ? kept : each)) : [...before, condition],
  };
};
