// The stores that `plat snapshot` reads and fills, by its flags: embedded ones, which may be in use by another process,
// and those in etcd.

import {existsSync} from 'node:fs';
import {join, posix} from 'node:path';
import {naming as namingOf, type NamingName} from '#src/api/naming.js';
import {systemClock} from '#src/base/clock.js';
import {recordEncoding} from '#src/apiserver/registry/record-encoding.js';
import {defaultDataDir} from '#src/options/programs/up.js';
import type {SnapshotOptions} from '#src/options/programs/snapshot.js';
import type {ValueUnreadable} from '#src/storage/errors.js';
import {restoreEmbedded, viewEmbedded} from '#src/storage/embedded/snapshot.js';
import {withEncrypted} from '#src/storage/encryption/encrypted-store.js';
import {EtcdClient} from '#src/storage/etcd/client.js';
import {namingAt} from '#src/storage/etcd/marker.js';
import {tlsFiles} from '#src/storage/etcd/open.js';
import {restoreEtcd, viewEtcd, type EtcdPlace} from '#src/storage/etcd/snapshot.js';
import type {SnapshotReader, SnapshotRecord} from '#src/storage/snapshot/format.js';
import {GrpcChannel} from '#src/transport/grpc/channel.js';
import {canonicalValue} from './canonical.js';

/** A consistent view of a store. */
export interface StoreView extends AsyncDisposable {
  readonly naming: string;
  readonly revision: number;
  /** The records in the order of their keys. Throws for one that is damaged, or reports it and goes on. */
  records(damaged?: (error: ValueUnreadable) => void): AsyncIterable<SnapshotRecord>;
}

/** One store, as the flags name it. */
export interface Place {
  /** For messages. */
  readonly text: string;
  view(): Promise<StoreView>;
  /**
   * Fills the store, which must be empty. Resolves to the hash of what it holds then; undefined where it is that of the
   * snapshot.
   */
  restore(snapshot: SnapshotReader): Promise<{readonly content: string; readonly keys: number} | undefined>;
}

const embedded = (directory: string): Place => ({
  text: directory,
  view: () => viewEmbedded(directory),
  restore: async snapshot => {
    await restoreEmbedded(directory, snapshot);
    return undefined;
  },
});

/** The store of the plane in a data directory. */
export const planeStore = (dataDir: string): Place => embedded(join(dataDir, 'store'));

type ConnectionOptions = Pick<
  SnapshotOptions,
  'kvstoreCafile' | 'kvstoreCertfile' | 'kvstoreKeyfile' | 'kvstorePrefix' | 'storageMediaType'
>;

/** Calls `act` with a connection to the servers and the encoding of records in a naming. */
const etcd = (servers: readonly string[], options: ConnectionOptions): Place => {
  const prefix = posix.join('/', options.kvstorePrefix).replace(/\/$/, '');
  const text = `${servers.join(',')}${prefix}`;
  const connect = () => {
    const tls = tlsFiles({caFile: options.kvstoreCafile, certFile: options.kvstoreCertfile, keyFile: options.kvstoreKeyfile});
    const channel = new GrpcChannel({servers, clock: systemClock, tls});
    return {client: new EtcdClient({channel, clock: systemClock}), [Symbol.asyncDispose]: () => channel[Symbol.asyncDispose]()};
  };
  const placeIn = async (client: EtcdClient, name: string): Promise<EtcdPlace> => {
    const naming = namingOf(name as NamingName);
    const mediaType = options.storageMediaType.startsWith('application/vnd.') ? naming.protobufMediaType : options.storageMediaType;
    const encoding = withEncrypted(await recordEncoding({naming, mediaType, cbor: false}), naming.encryptedPrefix);
    return {client, prefix, encoding};
  };
  return {
    text,
    async view() {
      const connection = connect();
      try {
        const {client} = connection;
        const place = await placeIn(client, (await namingAt(client, prefix)) ?? 'plat');
        const {naming, revision, records} = await viewEtcd(place, systemClock.now());
        return {naming, revision, records: () => records(revision), [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose]()};
      } catch (error) {
        await connection[Symbol.asyncDispose]();
        throw error;
      }
    },
    async restore(snapshot) {
      await using connection = connect();
      const place = await placeIn(connection.client, snapshot.header.naming);
      const written = await restoreEtcd(place, snapshot, systemClock.now(), canonicalValue);
      return {content: written.digest(), keys: written.keys};
    },
  };
};

/** The store of `--data-dir`, `--store-dir` or `--kvstore-servers`. */
export const placeOf = (options: SnapshotOptions): Place => {
  if (options.kvstoreServers.length > 0) return etcd(options.kvstoreServers, options);
  if (options.storeDir) return embedded(options.storeDir);
  const defaults = (['kubernetes', 'plat'] as const).map(defaultDataDir);
  return planeStore(options.dataDir || (defaults.find(directory => existsSync(directory)) ?? defaults[0]!));
};

/** Whether the flags name a store. */
export const namesPlace = ({dataDir, storeDir, kvstoreServers}: SnapshotOptions): boolean =>
  Boolean(dataDir || storeDir || kvstoreServers.length > 0);

/** The store of `--to-data-dir`, `--to-store-dir` or `--to-kvstore-servers`. Throws if none is named. */
export const targetOf = (options: SnapshotOptions): Place => {
  if (options.toKvstoreServers.length > 0) return etcd(options.toKvstoreServers, options);
  if (options.toStoreDir) return embedded(options.toStoreDir);
  if (options.toDataDir) return planeStore(options.toDataDir);
  throw new Error('copy needs --to-data-dir, --to-store-dir or --to-kvstore-servers');
};
