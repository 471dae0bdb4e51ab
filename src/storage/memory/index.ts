import {systemClock, type Clock} from '#src/base/clock.js';
import {LocalStore} from '#src/storage/local/store.js';
import type {Store} from '#src/storage/store.js';
import {MemoryEngine} from './engine.js';

export interface MemoryStoreOptions {
  readonly clock?: Clock;
}

/** Returns an empty store in this process's memory. */
export const memoryStore = ({clock = systemClock}: MemoryStoreOptions = {}): Store => new LocalStore(new MemoryEngine(), clock);
