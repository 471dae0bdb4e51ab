import {systemClock, type Clock} from '#src/base/clock.js';
import {LocalStore} from '#src/storage/local/store.js';
import type {Store} from '#src/storage/store.js';
import {MemoryEngine} from './engine.js';

export interface MemoryStoreOptions {
  readonly clock?: Clock;
}

/** An empty store that lives and dies with this process. */
export const memoryStore = ({clock = systemClock}: MemoryStoreOptions = {}): Store => new LocalStore(new MemoryEngine(), clock);
