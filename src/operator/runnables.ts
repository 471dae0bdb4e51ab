// Work beside controllers that begins and ends with the manager.

import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';

/** What a runnable is given. */
export interface RunnableContext {
  /** Aborts when the runnable has to end. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
}

/** Work beside controllers, such as a server or a poll: an option of managers, and an argument of `manager.add`. */
export interface Runnable {
  /** The name in logs and health checks, which no controller may have. */
  readonly name: string;
  /** Whether it runs only on the replica that leads. Default true. */
  readonly needsLeaderElection?: boolean;
  /**
   * Works until the signal aborts; the manager waits for it within its grace period. It may end before that. A
   * rejection ends the manager with that error.
   */
  start(context: RunnableContext): void | Promise<void>;
}
