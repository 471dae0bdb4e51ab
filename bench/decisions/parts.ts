// Parts of the product that decision records are about, and how each is switched off in a server of a measurement.

import {EmptyRanges} from '#src/storage/embedded/empty-ranges.js';
import {FoundKeys} from '#src/storage/embedded/found-keys.js';
import {HotRanges} from '#src/storage/embedded/hot-ranges.js';
import {mapDefaults} from '#src/storage/embedded/mapped-tree.js';
import {RecentRecords} from '#src/storage/embedded/recent.js';

/** Replaces members of an object. Returns how to put back what was there. */
const replaced = <T extends object>(target: T, members: Partial<T>): (() => void) => {
  const before = Object.fromEntries(Object.keys(members).map(name => [name, target[name as keyof T]]));
  Object.assign(target, members);
  return () => void Object.assign(target, before);
};

const nothing = () => undefined;
const never = () => false;

/**
 * The caches of the embedded store: each can be switched off while the server runs, since they are invalidated all the
 * same.
 */
export const storeCaches = {
  recent: () => replaced(RecentRecords.prototype, {get: nothing, keep: nothing}),
  'empty-ranges': () => replaced(EmptyRanges.prototype, {has: never, add: nothing}),
  'hot-ranges': () => replaced(HotRanges.prototype, {find: nothing, recordRead: nothing}),
  'found-keys': () => replaced(FoundKeys.prototype, {find: nothing, recordRead: nothing}),
};

export type StoreCache = keyof typeof storeCaches;

/** What bounds the memory of a server: decided when it starts. */
export const memoryParts = ['mapped-tree', 'idle-memory', 'heap-growth'] as const;

export type MemoryPart = (typeof memoryParts)[number];

/** Keeps all pages of the data file mapped that were read. */
export const keepMapped = (): void => void replaced(mapDefaults, {maxBytes: Infinity, restBytes: Infinity});
