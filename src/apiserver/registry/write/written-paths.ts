import type {WrittenPaths} from '#src/resources/definition.js';
import {copied} from '#src/schema/decode/plain.js';

/** A plain object of unknown shape. */
export type Fields = Record<string, unknown>;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Sets `to.<path>` to the value of `from.<path>`, or removes it if that is absent. */
const copyPath = (from: Fields, to: Fields, path: string): void => {
  const parts = path.split('.');
  const last = parts.pop()!;
  let source: unknown = from;
  let target = to;
  for (const part of parts) {
    source = isFields(source) ? source[part] : undefined;
    const next = target[part];
    if (isFields(next)) target = next;
    else if (isFields(source)) target = target[part] = {};
    else return;
  }
  const value = isFields(source) ? source[last] : undefined;
  if (value === undefined) delete target[last];
  else target[last] = value;
};

/** Returns the paths that a creation writes: always with metadata. */
export const withMetadata = (written: WrittenPaths): WrittenPaths => ('allBut' in written ? written : ['metadata', ...written]);

/**
 * Returns the object to store: the fields that the endpoint may write (`writes`) from `incoming`, all others from `stored`. Without a stored object the others are
 * left out.
 */
export const mergeWrittenFields = <T extends object>(incoming: T, stored: T | undefined, writes: WrittenPaths): T => {
  if ('allBut' in writes) return mergeAllBut(incoming as Fields, stored as Fields | undefined, writes.allBut) as T;
  const result = (stored ? copied(stored) : {}) as Fields;
  for (const key of ['apiVersion', 'kind', ...writes]) copyPath(incoming as Fields, result, key);
  return result as T;
};

const mergeAllBut = (incoming: Fields, stored: Fields | undefined, others: readonly string[]): Fields => {
  const result = {...incoming};
  for (const key of others) {
    if (stored?.[key] === undefined) delete result[key];
    else result[key] = copied(stored[key] as object);
  }
  return result;
};
