// Separate from the election, so that the public types of the package do not include those of the runtime.

import type {Client} from '#src/client/client.js';
import type {Duration} from './result.js';

/** Leader election among the replicas of an operator: only the leader runs its controllers. */
export interface LeaderElectionOptions {
  /**
   * The client for the Lease. Default: that of the manager. A client without a rate limit keeps the lease renewed while
   * the controllers are busy.
   */
  readonly client?: Client;
  /** The namespace of the Lease. */
  readonly namespace: string;
  /** The name of the Lease. Default: the manager's name. */
  readonly name?: string;
  /** The identity of this replica, which must be unique. Default: the host name and a random part. */
  readonly identity?: string;
  /** How long other replicas wait after the last observed renewal. Default 15 s. */
  readonly leaseDuration?: Duration;
  /** How long the leader retries a renewal before it gives up. Default 10 s. */
  readonly renewDeadline?: Duration;
  /** The retry period. Default 2 s. */
  readonly retryPeriod?: Duration;
}
