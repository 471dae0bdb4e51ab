// Apart from the election itself, so that the package's public types do not contain the runtime's.

import type {Client} from '#src/client/client.js';
import type {Duration} from './result.js';

/** How the replicas of an operator agree on the one whose controllers run. */
export interface LeaderElectionOptions {
  /**
   * The client for the Lease. Default: that of the manager. One without a rate limit keeps the lead while the
   * controllers are busy.
   */
  readonly client?: Client;
  /** The namespace of the Lease. */
  readonly namespace: string;
  /** The name of the Lease. Default: the manager's name. */
  readonly name?: string;
  /** The name of this replica, which no other may have. Default: the host's name and a random part. */
  readonly identity?: string;
  /** How long other replicas wait after the last renewal of a leader that they see. Default 15 s. */
  readonly leaseDuration?: Duration;
  /** How long a leader tries to renew before it gives up. Default 10 s. */
  readonly renewDeadline?: Duration;
  /** The time between two tries. Default 2 s. */
  readonly retryPeriod?: Duration;
}
