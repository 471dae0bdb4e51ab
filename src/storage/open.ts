import {systemClock, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import {StoreUnusable} from './errors.js';
import type {StoreServers} from './etcd/open.js';
import type {Store} from './store.js';

export interface OpenStoreOptions {
  /** The value of `--storage-backend`. */
  readonly backend: string;
  /** Where the embedded store lives. */
  readonly directory: string;
  readonly naming: string;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly log?: Log;
  /** Where and how `etcd3` keeps records. */
  readonly servers?: StoreServers | undefined;
  /** How long opening may take; without limit unless given. */
  readonly timeoutMs?: number;
}

/** Opens the store that `--storage-backend` names. Throws `StoreUnusable` with one line for the user when it cannot. */
export const openStore = async ({timeoutMs, ...options}: OpenStoreOptions): Promise<Store> => {
  const given = new AbortController();
  const opening = open(options, given.signal);
  if (timeoutMs === undefined) return opening;
  let timer: Disposable | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = (options.clock ?? systemClock).schedule(timeoutMs, () => {
      const late = new StoreUnusable(`--storage-initialization-timeout: the store was not ready within ${timeoutMs / 1000} s`);
      given.abort(late);
      reject(late);
    });
  });
  try {
    return await Promise.race([opening, late]);
  } finally {
    timer?.[Symbol.dispose]();
  }
};

const open = async ({backend, servers, ...options}: Omit<OpenStoreOptions, 'timeoutMs'>, signal: AbortSignal): Promise<Store> => {
  switch (backend) {
    case 'embedded':
      return (await import('./embedded/index.js')).openEmbeddedStore(options);
    case 'memory':
      return (await import('./memory/index.js')).memoryStore(options);
    case 'etcd3':
      if (!servers) throw new StoreUnusable('--storage-backend=etcd3 requires --kvstore-servers');
      return (await import('./etcd/open.js')).openStoreServers(servers, options, signal);
    default:
      throw new StoreUnusable(`--storage-backend=${backend} is not known: choose embedded, memory or etcd3`);
  }
};
