import {readFile} from 'node:fs/promises';
import {systemClock} from '#src/base/clock.js';
import {messageOf} from '#src/base/message.js';
import {firstOf} from '#src/base/signals.js';
import {StoreUnusable} from '#src/storage/errors.js';
import {RoutedStore} from '#src/storage/routed-store.js';
import type {Store} from '#src/storage/store.js';
import type {Dial} from '#src/transport/dial.js';
import type {RecordEncoding} from './encoding.js';
import {openEtcdStore, type EtcdStoreOptions} from './index.js';

/** The connection settings of an etcd store. */
export interface StoreServers {
  /** As `scheme://host:port`. */
  readonly urls: readonly string[];
  /** Paths of files that are read again for each connection; empty if unused. */
  readonly tls: {readonly caFile: string; readonly certFile: string; readonly keyFile: string};
  readonly prefix: string;
  /** Whether reads are served from the watch cache. */
  readonly cached: boolean;
  /** Opens connections; by default over this machine's network. */
  readonly dial?: Dial | undefined;
  encoding(): Promise<RecordEncoding>;
  /** Returns the keys that are kept in other servers. Rejects with `StoreUnusable`. */
  overrides?(): Promise<readonly ServerOverride[]>;
}

/** Keys that are kept in servers of their own, which are connected to as the others are. */
export interface ServerOverride {
  readonly urls: readonly string[];
  readonly prefixes: readonly string[];
}

type OpenOptions = Pick<EtcdStoreOptions, 'clock' | 'random' | 'log' | 'naming' | 'waiting'>;

/** The servers take a ping every five seconds (--grpc-keepalive-min-time). */
const pings = {everyMs: 30_000, timeoutMs: 10_000};

/**
 * Opens the store on the servers given by the flags. Throws `StoreUnusable` for files that cannot be read; waits for
 * servers that do not answer until the signal aborts.
 */
export const openStoreServers = async (servers: StoreServers, options: OpenOptions, signal: AbortSignal): Promise<Store> => {
  const overrides = (await servers.overrides?.()) ?? [];
  if (overrides.length === 0) return openServers(servers, options, signal);
  const failed = new AbortController();
  using either = firstOf(signal, failed.signal);
  const opening = [servers.urls, ...overrides.map(({urls}) => urls)].map(urls => openServers({...servers, urls}, options, either.signal));
  try {
    const [rest, ...others] = await Promise.all(opening);
    return new RoutedStore(
      rest!,
      others.map((store, index) => ({store, prefixes: overrides[index]!.prefixes})),
    );
  } catch (error) {
    failed.abort();
    for (const one of await Promise.allSettled(opening)) if (one.status === 'fulfilled') await one.value.close();
    throw error;
  }
};

const openServers = async (
  {urls, tls, prefix, cached, encoding, dial}: StoreServers,
  options: OpenOptions,
  signal: AbortSignal,
): Promise<Store> => {
  const {clock = systemClock, random, log, naming, waiting} = options;
  const files = tlsFiles(tls);
  await files();
  return openEtcdStore({
    servers: urls,
    tls: files,
    prefix,
    cached,
    encoding: await encoding(),
    pings,
    ...(dial && {dial}),
    clock,
    ...(naming && {naming}),
    signal,
    ...(random && {random}),
    ...(log && {log}),
    ...(waiting && {waiting}),
  });
};

/** Returns a function that reads the files anew, for each connection. */
export const tlsFiles = (paths: StoreServers['tls']) => () => filesOf(paths);

const filesOf = async ({caFile, certFile, keyFile}: StoreServers['tls']): Promise<{ca?: Buffer; cert?: Buffer; key?: Buffer}> => {
  const [ca, cert, key] = await Promise.all([
    fileOf('kvstore-cafile', caFile),
    fileOf('kvstore-certfile', certFile),
    fileOf('kvstore-keyfile', keyFile),
  ]);
  return {...(ca && {ca}), ...(cert && {cert}), ...(key && {key})};
};

const fileOf = async (flag: string, path: string): Promise<Buffer | undefined> => {
  if (!path) return undefined;
  try {
    return await readFile(path);
  } catch (error) {
    throw new StoreUnusable(`--${flag}: ${messageOf(error)}`);
  }
};
