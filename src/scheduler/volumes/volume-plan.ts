import type {Frozen} from '#src/api/key.js';
import type {Claim, Volume} from '#src/model/volumes.js';

/** The bindings that a pod's claims need for a node. */
export interface VolumePlan {
  /** Claims with existing volumes for them. */
  readonly bindings: readonly {readonly claim: Frozen<Claim>; readonly volume: Frozen<Volume>}[];
  /** Claims whose volumes are to be provisioned. */
  readonly provisions: readonly Frozen<Claim>[];
}
