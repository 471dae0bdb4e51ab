import {StoreUnusable} from '#src/storage/errors.js';
import type {EtcdClient} from './client.js';

/** The key that records the naming of the store. It lies outside the prefix, so that no list returns it. */
const markerKey = (prefix: string): string => `plat_store${prefix}`;

/** Records the naming at the first start on a store; throws `StoreUnusable` if the store has another one. */
export const checkMarker = async (client: EtcdClient, prefix: string, naming: string): Promise<void> => {
  const key = markerKey(prefix);
  const {succeeded, found} = await client.transact({
    key,
    expected: {version: 0},
    apply: {put: Buffer.from(JSON.stringify({format: 1, naming}))},
    otherwise: 'get',
  });
  if (succeeded || !found) return;
  const marker = parsedMarker(found.value.toString());
  if (marker.format !== 1)
    throw new StoreUnusable(`the store below ${prefix} has the format ${String(marker.format)}; this version reads 1`);
  if (marker.naming !== naming)
    throw new StoreUnusable(
      `the store below ${prefix} was written with --naming=${String(marker.naming)}, not ${naming}: give --naming=${String(marker.naming)}, or another --kvstore-prefix`,
    );
};

/** Returns the naming that a store was written with; undefined if there is none. */
export const namingAt = async (client: EtcdClient, prefix: string): Promise<string | undefined> => {
  const [found] = (await client.range({start: markerKey(prefix)})).kvs;
  const {naming} = found ? parsedMarker(found.value.toString()) : {};
  return typeof naming === 'string' ? naming : undefined;
};

const parsedMarker = (text: string): {format?: unknown; naming?: unknown} => {
  try {
    return JSON.parse(text) as {format?: unknown; naming?: unknown};
  } catch {
    return {};
  }
};
