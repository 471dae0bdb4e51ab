// The admission of pods to a node, by what its agent knows at that moment.

import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import type {NodeCondition} from '#src/platlet/node/node-condition.js';
import {admit, type Admission} from '#src/platlet/pod/admission/admission.js';
import {allocate, emptyAllocation} from '#src/platlet/pod/admission/allocation.js';
import type {NodeFeatures} from '#src/platlet/pod/admission/features.js';
import type {WorkingPods} from './working-pods.js';

export interface PodAdmissionParts {
  readonly naming: Naming;
  /** Returns the Node; undefined while it is not known. */
  node(): Frozen<Node> | undefined;
  /** Reads the Node from the server, whose labels may be newer than what is known of them. Absent without a server. */
  readonly freshNode?: (() => Promise<Frozen<Node>>) | undefined;
  readonly condition: Pick<NodeCondition, 'pressures'>;
  /** The pods that were admitted before. */
  readonly working: Pick<WorkingPods, 'active'>;
  /** Kernel parameters that are allowed besides the safe ones; the last character may be `*`. */
  readonly allowedSysctls: readonly string[];
  readonly features: NodeFeatures;
}

/** Decides which pods the node takes. */
export class PodAdmission {
  readonly #parts: PodAdmissionParts;

  constructor(parts: PodAdmissionParts) {
    this.#parts = parts;
  }

  /** Returns what the node does with a pod, by the Node that is known or by another one. */
  admit(pod: Frozen<Pod>, node: Frozen<Node> | undefined = this.#parts.node()): Admission {
    const {naming, condition, working, allowedSysctls, features} = this.#parts;
    const pods = working.active;
    const allocation = emptyAllocation();
    for (const each of pods) allocate(allocation, each);
    return admit({naming, node, pressures: condition.pressures, allowedSysctls, features, isShuttingDown: false, allocation, pods}, pod);
  }

  /** Reads the Node anew; undefined without a server. */
  freshNode(): Promise<Frozen<Node>> | undefined {
    return this.#parts.freshNode?.();
  }
}
