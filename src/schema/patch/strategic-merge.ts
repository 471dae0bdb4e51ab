import {setProperty} from '#src/base/json/set-property.js';
import {copied, isPlainObject, ownField, type PlainObject} from '#src/schema/decode/plain.js';
import type {SchemaNode} from '#src/schema/node.js';
import {
  withoutDirectives,
  deleteFromPrimitiveList,
  dropped,
  patchDirective,
  patchMeta,
  retainKeysDirective,
  setElementOrder,
} from './directives.js';
import {inapplicable, malformed, formatValue, unprocessable} from './errors.js';
import {mergedInOrder, mergedList, withoutElements} from './list-merge.js';

/** Returns the field of a parallel list: `containers` for `$setElementOrder/containers`. */
const fieldOf = (key: string, prefix: string, message: string): string => {
  if (!key.startsWith(`${prefix}/`)) throw malformed(message);
  return key.slice(prefix.length + 1);
};

const badOrder = 'invalid patch format of setElementOrder list';
const badDeletion = 'invalid patch format of primitive list';
const badRetainKeys = 'invalid patch format of retainKeys';

const listOf = (value: unknown, message: string): unknown[] | undefined => {
  if (value === undefined || Array.isArray(value)) return value;
  throw malformed(message);
};

/** Merges a patch object into a live object, field by field. Changes neither. */
class ObjectMerge {
  readonly #node: SchemaNode | undefined;
  readonly #patch: PlainObject;
  readonly #result: PlainObject = {};
  /** The fields of lists that are merged in a stated order. */
  #ordered: Set<string> | undefined;

  constructor(live: PlainObject, patch: PlainObject, node: SchemaNode | undefined) {
    this.#node = node;
    this.#patch = patch;
    for (const key of Object.keys(live)) setProperty(this.#result, key, live[key]);
  }

  merge(): PlainObject {
    const keys = Object.keys(this.#patch);
    this.#retainKeys(keys);
    for (const key of keys) if (key.startsWith(setElementOrder)) this.#inOrder(key);
    for (const key of keys) {
      if (key === retainKeysDirective || key.startsWith(setElementOrder) || this.#ordered?.has(key)) continue;
      if (key.startsWith(deleteFromPrimitiveList)) this.#deleteElements(key);
      else this.#field(key, this.#patch[key]);
    }
    return this.#result;
  }

  #retainKeys(keys: readonly string[]): void {
    if (!Object.hasOwn(this.#patch, retainKeysDirective)) return;
    const retained = new Set(listOf(this.#patch[retainKeysDirective], badRetainKeys));
    for (const key of keys) {
      const isParallel = key === retainKeysDirective || key.startsWith(deleteFromPrimitiveList) || key.startsWith(setElementOrder);
      if (this.#patch[key] !== null && !isParallel && !retained.has(key))
        throw unprocessable("patch content doesn't match retainKeys list");
    }
    for (const key of Object.keys(this.#result)) if (!retained.has(key)) delete this.#result[key];
  }

  #inOrder(key: string): void {
    const field = fieldOf(key, setElementOrder, badOrder);
    const order = listOf(this.#patch[key], badOrder) ?? [];
    const patched = ownField(this.#patch, field);
    if (patched === null) return;
    const meta = patchMeta(this.#node, field);
    const merged = mergedInOrder(listOf(ownField(this.#result, field), badOrder), listOf(patched, badOrder), order, meta, (a, b) =>
      mergedObjects(a, b, meta.node),
    );
    if (merged !== undefined) setProperty(this.#result, field, merged);
    (this.#ordered ??= new Set()).add(field);
  }

  #deleteElements(key: string): void {
    const field = fieldOf(key, deleteFromPrimitiveList, badDeletion);
    const removed = listOf(this.#patch[key] ?? undefined, badDeletion);
    const live = ownField(this.#result, field);
    if (removed && Array.isArray(live)) setProperty(this.#result, field, withoutElements(live, removed));
  }

  #field(key: string, value: unknown): void {
    const live = ownField(this.#result, key);
    if (value === null) {
      delete this.#result[key];
      return;
    }
    const meta = patchMeta(this.#node, key);
    if (isPlainObject(live) && isPlainObject(value)) {
      setProperty(this.#result, key, meta.strategy === 'replace' ? copied(value) : mergedObjects(live, value, meta.node));
    } else if (Array.isArray(live) && Array.isArray(value)) {
      const merges = meta.strategy === 'merge';
      setProperty(
        this.#result,
        key,
        merges ? mergedList(live, value, meta, (a, b) => mergedObjects(a, b, meta.node)) : withoutDirectives(value),
      );
    } else {
      const kept = withoutDirectives(value);
      if (kept === dropped) delete this.#result[key];
      else setProperty(this.#result, key, kept);
    }
  }
}

const mergedObjects = (live: PlainObject, patch: PlainObject, node: SchemaNode | undefined): PlainObject => {
  const directive = ownField(patch, patchDirective);
  if (directive === undefined) return new ObjectMerge(live, patch, node).merge();
  if (directive === 'delete') return {};
  if (directive !== 'replace') throw inapplicable(`unknown patch type: ${formatValue(directive)} in map: ${formatValue(patch)}`);
  const {[patchDirective]: _, ...content} = patch;
  return withoutDirectives(content) as PlainObject;
};

/**
 * Applies a strategic merge patch by the schema. Changes neither input; the result may share parts with both. Throws
 * the status errors of the response: 400 for a malformed patch, 422 for a contradictory one, 500 without a reason where
 * the original sends that.
 */
export const applyStrategicPatch = (live: PlainObject, patch: PlainObject, node: SchemaNode): PlainObject =>
  mergedObjects(live, patch, node);
