import type {Frozen} from '#src/api/key.js';
import type {ResourceRequirements} from '#src/api/pod.js';
import type {Rejection} from '#src/simulation/node/allocation.js';

export type Amounts = Frozen<ResourceRequirements>;

/** What containers were promised, what they have, and what stands between the two and their spec (KEP-1287). */
export interface Resizing {
  /** By container; what cannot be resized is not among it. */
  allocated: ReadonlyMap<string, Amounts>;
  actual: ReadonlyMap<string, Amounts>;
  pending?: Rejection & {readonly generation: number};
  progress?: {readonly doneAt: number; readonly generation: number};
}
