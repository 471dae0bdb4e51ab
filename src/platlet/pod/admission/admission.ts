// Admission of a pod that is bound to a node: the checks in order; the first rejection counts.

import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import {insufficientResource, shortageOf, type NodeAllocation} from './allocation.js';
import {pressureRejection} from './eviction.js';
import {appArmorRejection, featureRejection, shutdownRejection, type NodeFeatures} from './features.js';
import {managerRejection, type ManagerRefusal} from './managers.js';
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
  reserve?(pod: Frozen<Pod>): ManagerRefusal | undefined;
}

/** The decision about a new pod. */
export type Admission =
  | {readonly is: 'admitted'}
  | {readonly is: 'refused'; readonly rejection: Rejection}
  /** The pod is admitted once these victims of preemption are terminated. */
  | {readonly is: 'preempting'; readonly victims: readonly Frozen<Pod>[]; readonly resource: string};

const refused = (rejection: Rejection): Admission => ({is: 'refused', rejection});

/** Returns the decision about a pod, given the pods admitted before it. */
export const admit = (state: NodeState, pod: Frozen<Pod>): Admission => {
  const {naming, node, pressures, allowedSysctls, features, isShuttingDown, allocation, pods} = state;
  const first = pressureRejection(naming, pressures, pod) ?? sysctlRejection(pod, allowedSysctls);
  if (first) return refused(first);
  const held = state.reserve?.(pod);
  if (held) return refused(managerRejection(held));
  if (!node) return refused(unknownNodeRejection(naming));
  const wrong = systemRejection(naming, node, pod);
  if (wrong) return refused(wrong);
  const allocatable = node.status?.allocatable ?? {};
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
