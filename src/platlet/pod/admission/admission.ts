// Admission of a pod that is bound to a node: the checks in order; the first rejection counts.

import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import type {Eventually} from '#src/base/eventually.js';
import {runStepwise, settled, type Stepwise} from '#src/base/stepwise.js';
import {insufficientResource, shortageOf, type NodeAllocation} from './allocation.js';
import {pressureRejection} from './eviction.js';
import {appArmorRejection, featureRejection, shutdownRejection, type NodeFeatures} from './features.js';
import {managerRejection, type ManagerRefusal, type Reserved} from './managers.js';
import {placementRejection, systemRejection, unknownNodeRejection} from './predicates.js';
import {preemptionVictims} from './preemption.js';
import {isCritical} from '#src/platlet/pod/origin.js';
import type {Rejection} from './rejection.js';
import {sysctlRejection} from './sysctls.js';

/** The state of a node that admission depends on. */
export interface NodeState {
  readonly naming: Naming;
  /** Undefined while it is not known. */
  readonly node: Frozen<Node> | undefined;
  /** The types of pressure conditions that are true. */
  readonly pressures: readonly string[];
  /** The unsafe sysctls that are allowed; a trailing `*` matches any suffix. */
  readonly allowedSysctls: readonly string[];
  readonly features: NodeFeatures;
  readonly isShuttingDown: boolean;
  /** The resources allocated to the admitted pods. */
  readonly allocation: NodeAllocation;
  /** The admitted pods. */
  readonly pods: readonly Frozen<Pod>[];
  /** Reserves CPUs, memory and devices. */
  reserve?(pod: Frozen<Pod>): Reserved;
  /** Returns the least amounts that count as allocatable for the pod, by resource: those of devices that pods have. */
  heldBeside?(pod: Frozen<Pod>): ReadonlyMap<string, number>;
}

/** The decision about a new pod. */
export type Admission =
  | {readonly is: 'admitted'}
  | {readonly is: 'refused'; readonly rejection: Rejection}
  /** The pod is admitted once these victims of preemption are terminated. */
  | {readonly is: 'preempting'; readonly victims: readonly Frozen<Pod>[]; readonly resource: string};

const refused = (rejection: Rejection): Admission => ({is: 'refused', rejection});

/** Returns the decision about a pod, given the pods admitted before it. It comes later only if `reserve` waits. */
export const admit = (state: NodeState, pod: Frozen<Pod>): Eventually<Admission> => runStepwise(admission(state, pod));

/** The state of a node whose managers answer at once. */
export interface PromptNodeState extends NodeState {
  reserve(pod: Frozen<Pod>): ManagerRefusal | undefined;
}

/** Returns the decision about a pod of a node whose managers answer at once. */
export const admitAtOnce = (state: PromptNodeState, pod: Frozen<Pod>): Admission => {
  const first = firstRejection(state, pod);
  if (first) return first;
  const held = state.reserve(pod);
  return held ? refused(managerRejection(held)) : decision(state, pod);
};

const admission = function* (state: NodeState, pod: Frozen<Pod>): Stepwise<Admission> {
  const first = firstRejection(state, pod);
  if (first) return first;
  const held = yield* settled(state.reserve?.(pod));
  return held ? refused(managerRejection(held)) : decision(state, pod);
};

const firstRejection = ({naming, pressures, allowedSysctls}: NodeState, pod: Frozen<Pod>): Admission | undefined => {
  const first = pressureRejection(naming, pressures, pod) ?? sysctlRejection(pod, allowedSysctls);
  return first && refused(first);
};

/** Returns the allocatable resources of a node for a pod. */
const allocatableFor = ({node, heldBeside}: NodeState, pod: Frozen<Pod>): Readonly<Record<string, string>> => {
  const allocatable = {...node?.status?.allocatable};
  for (const [resource, count] of heldBeside?.(pod) ?? [])
    if (Number(allocatable[resource] ?? 0) < count) allocatable[resource] = String(count);
  return allocatable;
};

/** The decision about a pod whose resources are reserved. */
const decision = (state: NodeState, pod: Frozen<Pod>): Admission => {
  const {naming, node, features, isShuttingDown, allocation, pods} = state;
  if (!node) return refused(unknownNodeRejection(naming));
  const wrong = systemRejection(naming, node, pod);
  if (wrong) return refused(wrong);
  const allocatable = allocatableFor(state, pod);
  const missing = insufficientResource(allocation, allocatable, pod);
  const victims =
    missing && isCritical(naming, pod) ? preemptionVictims(naming, pod, pods, shortageOf(allocation, allocatable, pod)) : undefined;
  if (missing && !victims) return refused(missing);
  const rest =
    placementRejection(naming, node, allocation, pod) ??
    appArmorRejection(features, pod) ??
    featureRejection(features, pod) ??
    (isShuttingDown ? shutdownRejection : undefined);
  if (rest) return refused(rest);
  return missing && victims ? {is: 'preempting', victims, resource: missing.reason.replace(/^OutOf/, '')} : {is: 'admitted'};
};
