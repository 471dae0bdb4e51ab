import {systemClock, type Clock} from '#src/base/clock.js';
import {StoreUnusable} from './errors.js';
import type {Store} from './store.js';

export interface OpenStoreOptions {
  /** The value of `--storage-backend`. */
  readonly backend: string;
  /** Where the embedded store lives. */
  readonly directory: string;
  readonly naming: string;
  readonly clock?: Clock;
  /** How long opening may take; without limit unless given. */
  readonly timeoutMs?: number;
}

/** Opens the store that `--storage-backend` names. Throws `StoreUnusable` with one line for the user when it cannot. */
export const openStore = async ({timeoutMs, ...options}: OpenStoreOptions): Promise<Store> => {
  const opening = open(options);
  if (timeoutMs === undefined) return opening;
  let timer: Disposable | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = (options.clock ?? systemClock).schedule(timeoutMs, () => reject(new StoreUnusable(`--storage-initialization-timeout: the store was not ready within ${timeoutMs / 1000} s`)));
  });
  try {
    return await Promise.race([opening, late]);
  } finally {
    timer?.[Symbol.dispose]();
  }
};

const open = async ({backend, ...options}: Omit<OpenStoreOptions, 'timeoutMs'>): Promise<Store> => {
  switch (backend) {
    case 'embedded':
      return (await import('./embedded/index.js')).openEmbeddedStore(options);
    case 'memory':
      return (await import('./memory/index.js')).memoryStore(options);
    case 'etcd3':
      throw new StoreUnusable('--storage-backend=etcd3 is not part of this build: choose embedded or memory');
    default:
      throw new StoreUnusable(`--storage-backend=${backend} is not known: choose embedded or memory`);
  }
};
