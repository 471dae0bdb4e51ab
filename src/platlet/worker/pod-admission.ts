// Admission of pods by the current state of the node.

import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import type {NodeCondition} from '#src/platlet/node/node-condition.js';
import {admit, type Admission} from '#src/platlet/pod/admission/admission.js';
import {allocate, emptyAllocation} from '#src/platlet/pod/admission/allocation.js';
import type {NodeFeatures} from '#src/platlet/pod/admission/features.js';
import type {ManagerRefusal} from '#src/platlet/pod/admission/managers.js';
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
    reserve(pod: Frozen<Pod>, active: readonly Frozen<Pod>[]): ManagerRefusal | undefined;
  };
}

/** Decides which pods the node takes. */
export class PodAdmission {
  readonly #parts: PodAdmissionParts;

  constructor(parts: PodAdmissionParts) {
    this.#parts = parts;
  }

  /** Returns the decision about a pod, by the cached Node or by a given one. */
  admit(pod: Frozen<Pod>, node: Frozen<Node> | undefined = this.#parts.node()): Admission {
    const {naming, condition, working, allowedSysctls, features, managers} = this.#parts;
    // A pod that is here already is to be resized. Those that were deleted by force do not count, as in the original.
    const pods = working.active.filter(({metadata: {uid = ''} = {}}) => uid !== pod.metadata?.uid && !working.isRemoved(uid));
    const allocation = emptyAllocation();
    for (const each of pods) allocate(allocation, each);
    const {pressures, isShuttingDown} = condition;
    const reserve = (each: Frozen<Pod>): ManagerRefusal | undefined => managers?.reserve(each, pods);
    return admit({naming, node, pressures, allowedSysctls, features, isShuttingDown, allocation, pods, reserve}, pod);
  }

  /**
   * Allocates the resources of a pod that was admitted by an earlier agent process, unless the managers still have
   * them.
   */
  resume(pod: Frozen<Pod>): ManagerRefusal | undefined {
    const {managers, working} = this.#parts;
    return managers?.reserve(pod, working.active);
  }

  /** Reads the Node from the server; undefined without one. */
  freshNode(): Promise<Frozen<Node>> | undefined {
    return this.#parts.freshNode?.();
  }
}
