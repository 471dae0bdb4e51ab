import type {WrittenPaths} from '#src/resources/definition.js';
import {dropField} from '#src/base/json/drop-field.js';
import {setProperty} from '#src/base/json/set-property.js';
import {emptied, keepNote, keepNotes} from '#src/schema/emptied.js';
import {copied} from '#src/schema/decode/plain.js';

/** A plain object of unknown shape. */
export type Fields = Record<string, unknown>;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Sets the value at the path in `to` to that in `from`, or removes it if that is absent. */
const copyPath = (from: Fields, to: Fields, path: readonly string[]): void => {
  let source: unknown = from;
  let target = to;
  const last = path.length - 1;
  for (let at = 0; at < last; at++) {
    const part = path[at]!;
    source = isFields(source) ? source[part] : undefined;
    const next = target[part];
    if (isFields(next)) target = next;
    else if (isFields(source)) target = target[part] = {};
    else return;
  }
  const field = path[last]!;
  const value = isFields(source) ? source[field] : undefined;
  if (value !== undefined) {
    target[field] = value;
    return;
  }
  dropField(target, field);
  if (isFields(source) && emptied in source) keepNote(source, target, field);
};

/** Returns the paths that a creation writes: always with metadata. */
export const withMetadata = (written: WrittenPaths): WrittenPaths => ('allBut' in written ? written : ['metadata', ...written]);

/** The paths of an endpoint, taken apart once. */
interface Paths {
  /** Those that an update writes. */
  readonly updated: readonly (readonly string[])[];
  /** Those that a creation writes. */
  readonly created: readonly (readonly string[])[];
  /** The fields that are written as a whole. */
  readonly whole: ReadonlySet<string>;
}

const known = new WeakMap<readonly string[], Paths>();

const pathsOf = (written: readonly string[]): Paths => {
  let paths = known.get(written);
  if (!paths) {
    const updated = ['apiVersion', 'kind', ...written];
    paths = {
      updated: updated.map(path => path.split('.')),
      created: ['apiVersion', 'kind', 'metadata', ...written].map(path => path.split('.')),
      whole: new Set(updated.filter(path => !path.includes('.'))),
    };
    known.set(written, paths);
  }
  return paths;
};

/** Returns the object to create: metadata and the fields that the endpoint may write (`writes`). */
export const createdFields = <T extends object>(incoming: T, writes: WrittenPaths): T => {
  if ('allBut' in writes) return mergeAllBut(incoming as Fields, undefined, writes.allBut) as T;
  const created: Fields = {};
  for (const path of pathsOf(writes).created) copyPath(incoming as Fields, created, path);
  return created as T;
};

/**
 * Returns the object to update: the fields that the endpoint may write (`writes`) from `incoming`, all others from
 * `stored`.
 */
export const mergeWrittenFields = <T extends object>(incoming: T, stored: T, writes: WrittenPaths): T => {
  if ('allBut' in writes) return mergeAllBut(incoming as Fields, stored as Fields, writes.allBut) as T;
  const {updated, whole} = pathsOf(writes);
  const merged: Fields = {};
  for (const key of Object.keys(stored)) {
    const value = (whole.has(key) ? incoming : stored)[key as keyof T];
    if (value !== undefined) setProperty(merged, key, whole.has(key) ? value : copied(value));
  }
  keepNotes(stored, merged);
  for (const path of updated) copyPath(incoming as Fields, merged, path);
  return merged as T;
};

const mergeAllBut = (incoming: Fields, stored: Fields | undefined, others: readonly string[]): Fields => {
  const result = {...incoming};
  for (const key of others) {
    if (stored?.[key] === undefined) dropField(result, key);
    else result[key] = copied(stored[key] as object);
  }
  return result;
};
