import type {Frozen} from '#src/api/key.js';
import type {Claim, Volume} from '#src/model/volumes.js';

/** What has to happen to a pod's claims for it to run on a node. */
export interface VolumePlan {
  /** Claims with the volumes that are there for them. */
  readonly bindings: readonly {readonly claim: Frozen<Claim>; readonly volume: Frozen<Volume>}[];
  /** Claims whose volume is still to be made. */
  readonly provisions: readonly Frozen<Claim>[];
}
