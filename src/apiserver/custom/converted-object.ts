import {collectErrors} from '#src/api/collect-errors.js';
import type {FieldError} from '#src/api/field-error.js';
import type {KubeObject} from '#src/api/types.js';
import {validateAnnotations, validateLabels} from '#src/resources/validation/object-meta.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';

/** The upstream names of the types of JSON values. */
const typeOf = (value: unknown): string => {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return '[]interface {}';
  if (typeof value === 'object') return 'map[string]interface {}';
  if (typeof value === 'bigint') return 'int64';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return typeof value === 'boolean' ? 'bool' : 'string';
};

const textAt = (object: Readonly<PlainObject>, ...path: readonly string[]): string => {
  let value: unknown = object;
  for (const name of path) value = isPlainObject(value) ? value[name] : undefined;
  return typeof value === 'string' ? value : '';
};

const identity = [
  ['kind', ['kind']],
  ['name', ['metadata', 'name']],
  ['namespace', ['metadata', 'namespace']],
  ['UID', ['metadata', 'uid']],
] as const;

/** Checks that a converted object has the identity of the original. Throws an error with the difference. */
export const checkIdentity = (original: Readonly<PlainObject>, converted: Readonly<PlainObject>): void => {
  for (const [what, path] of identity) {
    const [expected, actual] = [textAt(original, ...path), textAt(converted, ...path)];
    if (expected !== actual) throw new Error(`must have the same ${what}: ${expected} != ${actual}`);
  }
};

/** Joins errors as upstream does. */
const joined = (errors: Iterable<FieldError>): string => {
  const texts = [...new Set([...errors].map(({path, detail}) => `${path}: ${detail}`))];
  return texts.length === 1 ? texts[0]! : `[${texts.join(', ')}]`;
};

const maps = [
  ['labels', (texts: Readonly<Record<string, string>>) => validateLabels(texts, 'metadata.labels')],
  ['annotations', (texts: Readonly<Record<string, string>>) => validateAnnotations(texts, 'metadata.annotation')],
] as const;

/**
 * Copies the metadata of the original to a converted object, except labels and annotations, which a conversion may
 * change. Throws an error if they are invalid.
 */
export const restoreMetadata = (original: Readonly<KubeObject>, converted: PlainObject): void => {
  if (!Object.hasOwn(converted, 'metadata')) throw new Error('missing metadata in converted object');
  const sent = converted['metadata'];
  if (!isPlainObject(sent)) throw new Error(`invalid metadata of type ${typeOf(sent)} in converted object`);
  const metadata = structuredClone(original.metadata ?? {}) as PlainObject;
  for (const [field, validate] of maps) {
    const now = sent[field] ?? undefined;
    const before = (metadata[field] ?? {}) as Readonly<Record<string, string>>;
    if (now === undefined) {
      delete metadata[field];
      continue;
    }
    if (!isPlainObject(now)) throw new Error(`invalid metadata.${field} of type ${typeOf(now)} in converted object`);
    const entries = Object.entries(now);
    for (const [key, value] of entries) {
      if (typeof value !== 'string')
        throw new Error(`metadata.${field}[${key}] must be a string, but is ${typeOf(value)} in converted object`);
    }
    // Entries that the original has are not validated again.
    if (entries.length !== Object.keys(before).length || entries.some(([key, value]) => before[key] !== value)) {
      const errors = collectErrors(validate(now as Record<string, string>));
      if (errors.length > 0) throw new Error(joined(errors));
    }
    metadata[field] = now;
  }
  converted['metadata'] = metadata;
};
