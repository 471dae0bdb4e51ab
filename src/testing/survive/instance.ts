import type {WatchStreams} from '#src/testing/faults/watch-streams.js';
import type {FailingKeys} from './failing-keys.js';
import type {OperatorClock} from './operator-clock.js';

/** One process of the operator. */
export interface Instance {
  readonly number: number;
  readonly clock: OperatorClock;
  readonly stop: AbortController;
  readonly streams: WatchStreams;
  readonly failing: FailingKeys;
  readonly progress: Progress;
  /** Resolves after its first write was handled. */
  readonly firstWrite: Promise<void>;
  wrote(): void;
  readonly ended: Promise<unknown>;
}

/** What a process has reached. */
export interface Progress {
  /** Whether its controllers run, with all their caches synced. */
  isReady: boolean;
  /** Why they do not. */
  problem: unknown;
  reconciles: number;
}

export const operatorStopped = (): Error => new Error('the operator is stopped');
