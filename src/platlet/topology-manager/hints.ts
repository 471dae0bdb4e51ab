// What resource managers tell the topology manager: on which NUMA nodes they can allocate a resource.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import type {Eventually} from '#src/base/eventually.js';
import type {ManagerRefusal} from '#src/platlet/pod/admission/managers.js';
import type {NumaMask} from './mask.js';

/** A possible allocation. */
export interface TopologyHint {
  /** Undefined: any nodes. */
  readonly affinity: NumaMask | undefined;
  readonly isPreferred: boolean;
}

/** The possible allocations by resource. None for a resource: it cannot be allocated as requested. */
export type ResourceHints = Readonly<Record<string, readonly TopologyHint[]>>;

/** Thrown by a resource manager that cannot allocate what a container requests. */
export class AllocationError extends Error {
  override readonly name = 'AllocationError';
  readonly refusal: ManagerRefusal;

  constructor(refusal: ManagerRefusal) {
    super(refusal.is === 'failed' ? refusal.error : refusal.is);
    this.refusal = refusal;
  }
}

/** A resource manager: for CPUs, memory or devices. */
export interface HintProvider {
  /** Returns the hints for one container; undefined: no preference. */
  containerHints(pod: Frozen<Pod>, container: Frozen<AnyContainer>): ResourceHints | undefined;
  /** Returns the hints for all containers of a pod together. */
  podHints(pod: Frozen<Pod>): ResourceHints | undefined;
  /**
   * Allocates what a container requests, on the NUMA nodes of the hint if possible. Changes nothing if it has been
   * allocated. Throws, or rejects with, an `AllocationError`.
   */
  allocate(pod: Frozen<Pod>, container: Frozen<AnyContainer>, hint: TopologyHint): Eventually<void>;
  /** Releases what containers hold that are not of these pods. */
  retain(pods: readonly Frozen<Pod>[]): void;
}
