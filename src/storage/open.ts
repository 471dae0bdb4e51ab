import type {Clock} from '#src/base/clock.js';
import {StoreUnusable} from './errors.js';
import type {Store} from './store.js';

export interface OpenStoreOptions {
  /** The value of `--storage-backend`. */
  readonly backend: string;
  /** Where the embedded store lives. */
  readonly directory: string;
  readonly naming: string;
  readonly clock?: Clock;
}

/** Opens the store that `--storage-backend` names. Throws `StoreUnusable` with one line for the user when it cannot. */
export const openStore = async ({backend, ...options}: OpenStoreOptions): Promise<Store> => {
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
