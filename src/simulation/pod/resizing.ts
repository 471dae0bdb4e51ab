import type {Frozen} from '#src/api/key.js';
import type {ResourceRequirements} from '#src/api/pod.js';
import type {Rejection} from '#src/platlet/pod/admission/rejection.js';

export type Amounts = Frozen<ResourceRequirements>;

/** The allocated and the actual resources of containers, and the state of a resize (KEP-1287). */
export interface Resizing {
  /** By container; only containers that can be resized. */
  allocated: ReadonlyMap<string, Amounts>;
  actual: ReadonlyMap<string, Amounts>;
  /** `since`: when it got its reason, by the timeline. */
  pending?: Rejection & {readonly generation: number; readonly since: number};
  progress?: {readonly doneAt: number; readonly generation: number};
}
