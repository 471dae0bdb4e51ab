import type {ExecutionContext} from 'ava';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import type {Store} from '#src/storage/store.js';

export interface World {
  readonly store: Store;
  readonly clock: VirtualClock;
}

/** States a test over a fresh store on virtual time, closed at its end. */
export type StoreTest = (title: string, body: (t: ExecutionContext, world: World) => Promise<void>) => void;

export const bytes = (text: string): Buffer => Buffer.from(text);
