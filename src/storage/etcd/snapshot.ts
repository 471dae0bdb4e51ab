// Reads a store in etcd into a snapshot, and fills an empty one from a snapshot.

import {systemRandom} from '#src/base/random.js';
import {StoreUnusable} from '#src/storage/errors.js';
import {ContentHash, type Canonical, type SnapshotReader, type SnapshotRecord} from '#src/storage/snapshot/format.js';
import {endOfPrefix} from '#src/storage/store.js';
import type {EtcdClient} from './client.js';
import type {RecordEncoding} from './encoding.js';
import {HistoryGone} from './history.js';
import {checkMarker, namingAt} from './marker.js';
import type {KeyValue} from './messages.js';

/** A store in etcd: the servers, the prefix of its keys without the final slash, and how records are encoded in it. */
export interface EtcdPlace {
  readonly client: EtcdClient;
  readonly prefix: string;
  readonly encoding: RecordEncoding;
}

const pageSize = 500;
/** How many records are written at the same time. */
const parallelWrites = 32;
/**
 * The assumed remaining time of a lease whose id exceeds the safe integers: such leases belong to other programs, which
 * keep events for an hour.
 */
const unknownLeaseMs = 3_600_000;

export const viewEtcd = async (place: EtcdPlace, now: number) => {
  const {client, prefix} = place;
  const naming = await namingAt(client, prefix);
  if (naming === undefined) throw new StoreUnusable(`there is no store of plat below ${prefix}`);
  return {naming, revision: await client.revision(), records: (revision: number) => recordsAt(place, revision, now)};
};

/** Returns when leases end, in wall time; each is requested once. */
const leaseEnds = (client: EtcdClient, now: number): ((lease: number) => Promise<number>) => {
  const known = new Map<number, number>();
  return async lease => {
    const found = known.get(lease);
    if (found !== undefined) return found;
    const end = now + (Number.isSafeInteger(lease) ? (await client.timeToLive(lease)) * 1000 : unknownLeaseMs);
    known.set(lease, end);
    return end;
  };
};

async function* recordsAt({client, prefix, encoding}: EtcdPlace, revision: number, now: number): AsyncGenerator<SnapshotRecord> {
  const endOf = leaseEnds(client, now);
  const recordOf = async ({key, value, revision: at, created, lease}: KeyValue): Promise<SnapshotRecord> => ({
    key,
    value: encoding.decode(key, value),
    revision: at,
    created,
    ...(lease === 0 ? {} : {expiresAt: await endOf(lease)}),
  });
  const end = endOfPrefix(`${prefix}/`);
  for (let start = `${prefix}/`; ;) {
    const {kvs, more} = await client.range({start, end, limit: pageSize, revision}).catch((error: unknown) => {
      throw error instanceof HistoryGone
        ? new StoreUnusable('the store compacted the revision of the snapshot meanwhile: try again')
        : error;
    });
    for (const kv of kvs) yield await recordOf(kv);
    if (!more) return;
    start = `${kvs.at(-1)!.key}\0`;
  }
}

/**
 * Writes the records of a snapshot below a prefix without keys. They get new revisions: etcd has one
 * counter for all. Records whose lease has ended are left out. Resolves to the hash of what was written, in `canonical`
 * form. Rejects with `StoreUnusable` if there is anything below the prefix.
 */
export const restoreEtcd = async (
  {client, prefix, encoding}: EtcdPlace,
  snapshot: SnapshotReader,
  now: number,
  canonical: Canonical,
): Promise<ContentHash> => {
  const {count} = await client.range({start: `${prefix}/`, end: endOfPrefix(`${prefix}/`), countOnly: true});
  if (count > 0) throw new StoreUnusable(`there are ${count} keys below ${prefix} already: remove them, or give another --kvstore-prefix`);
  await checkMarker(client, prefix, snapshot.header.naming);
  const content = new ContentHash(canonical);
  const leases = new Map<number, Promise<number>>();
  const leaseUntil = (expiresAt: number): Promise<number> => {
    let lease = leases.get(expiresAt);
    if (!lease) {
      const id = 1 + Math.floor(systemRandom.float() * (Number.MAX_SAFE_INTEGER - 1));
      lease = client.grant(Math.max(1, Math.ceil((expiresAt - now) / 1000)), id).then(() => id);
      leases.set(expiresAt, lease);
    }
    return lease;
  };
  const writing = new Set<Promise<void>>();
  const write = async ({key, value, expiresAt}: SnapshotRecord): Promise<void> => {
    const lease = expiresAt === undefined ? 0 : await leaseUntil(expiresAt);
    const {succeeded} = await client.transact({key, expected: {revision: 0}, apply: {put: encoding.encode(key, value), lease}});
    if (!succeeded) throw new StoreUnusable(`${key} was created by another program meanwhile`);
  };
  for await (const record of snapshot.records()) {
    const {key, expiresAt = Infinity} = record;
    if (!key.startsWith(`${prefix}/`) || expiresAt <= now) continue;
    content.add(record);
    const done = write(record).finally(() => writing.delete(done));
    writing.add(done);
    done.catch(() => {});
    if (writing.size >= parallelWrites) await Promise.race(writing);
  }
  await Promise.all(writing);
  return content;
};
