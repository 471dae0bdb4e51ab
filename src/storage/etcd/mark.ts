import {StoreUnusable} from '#src/storage/errors.js';
import type {EtcdClient} from './client.js';

/** Where the store says which naming its records are in. It lies beside the prefix, where no list finds it. */
const markKey = (prefix: string): string => `plat_store${prefix}`;

/** Notes the naming with the first start on a store; throws `StoreUnusable` where it is another one. */
export const checkMark = async (client: EtcdClient, prefix: string, naming: string): Promise<void> => {
  const key = markKey(prefix);
  const {succeeded, found} = await client.transact({key, expected: {version: 0}, apply: {put: Buffer.from(JSON.stringify({format: 1, naming}))}, otherwise: 'get'});
  if (succeeded || !found) return;
  const mark = markOf(found.value.toString());
  if (mark.format !== 1) throw new StoreUnusable(`the store below ${prefix} has the format ${String(mark.format)}; this version reads 1`);
  if (mark.naming !== naming) throw new StoreUnusable(`the store below ${prefix} was written with --naming=${String(mark.naming)}, not ${naming}: give --naming=${String(mark.naming)}, or another --kvstore-prefix`);
};

const markOf = (text: string): {format?: unknown; naming?: unknown} => {
  try {
    return JSON.parse(text) as {format?: unknown; naming?: unknown};
  } catch {
    return {};
  }
};
