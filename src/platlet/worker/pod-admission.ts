// Admission of pods by the current state of the node.

import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import {isPending, type Eventually} from '#src/base/eventually.js';
import type {NodeCondition} from '#src/platlet/node/node-condition.js';
import {admit, type Admission} from '#src/platlet/pod/admission/admission.js';
import {allocate, emptyAllocation} from '#src/platlet/pod/admission/allocation.js';
import type {NodeFeatures} from '#src/platlet/pod/admission/features.js';
import {managerRejection, type Reserved} from '#src/platlet/pod/admission/managers.js';
import type {WorkingPods} from './working-pods.js';

export interface PodAdmissionParts {
  readonly naming: Naming;
  /** Returns the Node; undefined while unknown. */
  node(): Frozen<Node> | undefined;
  /** Reads the Node from the server, whose labels may be newer than those of the informer. Absent without a server. */
  readonly freshNode?: (() => Promise<Frozen<Node>>) | undefined;
  readonly condition: Pick<NodeCondition, 'pressures' | 'isShuttingDown'>;
  /** The pods that are already admitted. */
  readonly working: Pick<WorkingPods, 'active' | 'isRemoved'>;
  /** The unsafe sysctls that are allowed; a trailing `*` matches any suffix. */
  readonly allowedSysctls: readonly string[];
  readonly features: NodeFeatures;
  /** The managers of CPUs, memory and devices; absent without them. */
  readonly managers?: {
    /** Allocates the resources of a pod beside those of the active ones. Returns why it cannot. */
    reserve(pod: Frozen<Pod>, active: readonly Frozen<Pod>[]): Reserved;
    /** Returns the least amounts that count as allocatable for a pod, by resource: those of devices that pods have. */
    heldBeside(pod: Frozen<Pod>): ReadonlyMap<string, number>;
  };
}

/** Decides which pods the node takes. */
export class PodAdmission {
  readonly #parts: PodAdmissionParts;

  constructor(parts: PodAdmissionParts) {
    this.#parts = parts;
  }

  /**
   * Returns the decision about a pod, by the cached Node or by a given one. It comes later if plugins have to allocate
   * devices; no other pod may be admitted until then.
   */
  admit(pod: Frozen<Pod>, node: Frozen<Node> | undefined = this.#parts.node()): Eventually<Admission> {
    const {naming, condition, working, allowedSysctls, features, managers} = this.#parts;
    // A pod that is here already is to be resized. Those that were deleted by force do not count, as in the original.
    const pods = working.active.filter(({metadata: {uid = ''} = {}}) => uid !== pod.metadata?.uid && !working.isRemoved(uid));
    const allocation = emptyAllocation();
    for (const each of pods) allocate(allocation, each);
    const {pressures, isShuttingDown} = condition;
    const state = {naming, node, pressures, allowedSysctls, features, isShuttingDown, allocation, pods};
    if (!managers) return admit(state, pod);
    return admit({...state, reserve: each => managers.reserve(each, pods), heldBeside: each => managers.heldBeside(each)}, pod);
  }

  /**
   * Returns the decision about a pod that is here already, with other resources. It waits if its devices are not known.
   */
  admitResized(pod: Frozen<Pod>): Admission {
    const admission = this.admit(pod);
    if (!isPending(admission)) return admission;
    return {is: 'refused', rejection: managerRejection({is: 'failed', error: 'devices that are being allocated'})};
  }

  /**
   * Allocates the resources of a pod that was admitted by an earlier agent process, unless the managers still have
   * them.
   */
  resume(pod: Frozen<Pod>): Reserved {
    const {managers, working} = this.#parts;
    return managers?.reserve(pod, working.active);
  }

  /** Reads the Node from the server; undefined without one. */
  freshNode(): Promise<Frozen<Node>> | undefined {
    return this.#parts.freshNode?.();
  }
}
