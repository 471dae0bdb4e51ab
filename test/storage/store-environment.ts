import type {ExecutionContext} from 'ava';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import type {Store} from '#src/storage/store.js';

export interface StoreEnvironment {
  readonly store: Store;
  readonly clock: VirtualClock;
  /** Lengths of values in bytes: one that the store takes, and one that it refuses. */
  readonly valueLengths: {readonly taken: number; readonly refused: number};
}

/**
 * Declares a test over a fresh store on virtual time, closed at its end. The field `alone` is for a store this process
 * has to itself: calls take effect in the order they are made, and its time is the given clock's.
 */
export interface StoreTest {
  (title: string, body: (t: ExecutionContext, environment: StoreEnvironment) => Promise<void>): void;
  alone(title: string, body: (t: ExecutionContext, environment: StoreEnvironment) => Promise<void>): void;
}

export const bytes = (text: string): Buffer => Buffer.from(text);
