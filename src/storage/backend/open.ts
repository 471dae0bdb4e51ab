import {systemClock, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import {firstOf} from '#src/base/signals.js';
import {StoreUnusable} from '#src/storage/errors.js';
import type {StoreServers} from '#src/storage/etcd/open.js';
import type {Store} from '#src/storage/store.js';

export interface OpenStoreOptions {
  /** The value of `--storage-backend`. */
  readonly backend: string;
  /** The directory of the embedded store. */
  readonly directory: string;
  readonly naming: string;
  /** The bound on the bytes of history of the embedded store; zero for none. */
  readonly historyBytes?: number;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly log?: Log;
  /** The servers and encoding of `etcd3`. */
  readonly servers?: StoreServers | undefined;
  /** How long opening may take; without limit unless given. */
  readonly timeoutMs?: number;
  /** Aborts the opening. */
  readonly signal?: AbortSignal;
  /** Called with the reason while the store is not yet usable. */
  readonly waiting?: (reason: string) => void;
}

/**
 * Opens the store that `--storage-backend` names. Rejects with `StoreUnusable`, with one line for the user, or with the
 * signal's reason.
 */
export const openStore = async ({timeoutMs, signal, waiting, ...options}: OpenStoreOptions): Promise<Store> => {
  let last = '';
  const late = new AbortController();
  using either = firstOf(signal, late.signal);
  const report = (reason: string) => {
    last = reason;
    waiting?.(reason);
  };
  const opening = open({...options, waiting: report}, either.signal);
  using _ =
    timeoutMs === undefined
      ? undefined
      : (options.clock ?? systemClock).schedule(timeoutMs, () =>
          late.abort(
            new StoreUnusable(
              `--storage-initialization-timeout: the store was not ready within ${timeoutMs / 1000} s${last && `: ${last}`}`,
            ),
          ),
        );
  return await unlessAborted(opening, either.signal);
};

/** Resolves to the store unless the signal aborts first: then the store is closed once it is open. */
const unlessAborted = (opening: Promise<Store>, signal: AbortSignal): Promise<Store> =>
  new Promise((resolve, reject) => {
    const abort = () => {
      reject(signal.reason as Error);
      opening.then(store => store.close()).catch(() => {});
    };
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, {once: true});
    opening.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });

const open = async (
  {backend, servers, ...options}: Omit<OpenStoreOptions, 'timeoutMs' | 'signal'>,
  signal: AbortSignal,
): Promise<Store> => {
  switch (backend) {
    case 'embedded':
      return (await import('#src/storage/embedded/index.js')).openEmbeddedStore(options);
    case 'memory':
      return (await import('#src/storage/memory/index.js')).memoryStore(options);
    case 'etcd3':
      if (!servers) throw new StoreUnusable('--storage-backend=etcd3 requires --kvstore-servers');
      return (await import('#src/storage/etcd/open.js')).openStoreServers(servers, options, signal);
    default:
      throw new StoreUnusable(`--storage-backend=${backend} is not known: choose embedded, memory or etcd3`);
  }
};
