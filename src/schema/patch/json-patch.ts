import {jsonText} from '#src/base/json/json.js';
import {sameJson} from '#src/api/equal.js';
import {StatusError} from '#src/api/status.js';
import {setProperty} from '#src/base/json/set-property.js';
import {copied, maxDepth, isNestedDeeper, type PlainObject} from '#src/schema/decode/plain.js';
import {unprocessable} from './errors.js';
import {unescaped} from './json-pointer.js';
import type {Literals} from './literals.js';

// Applies JSON patches (RFC 6902) with the deviations of the original's library. Bounded in what a patch may copy and
// move; the input is never changed.

/** An operation of a JSON patch (RFC 6902 §4) as it was sent: members that are missing or no text make it fail. */
export interface JsonPatchOperation {
  readonly op?: unknown;
  readonly path?: unknown;
  readonly from?: unknown;
  readonly value?: unknown;
}

/** A JSON patch, and the literals in the values of its operations if there are any. */
export interface JsonPatch {
  readonly operations: readonly JsonPatchOperation[];
  readonly literals?: Literals | undefined;
}

/** The limit of what a patch may add by copying. */
const maxCopiedBytes = 3 * 1024 * 1024;

/** The limit of list items a patch may move to make room or close gaps. Differs from upstream, which has no limit. */
const maxMovedItems = 20_000_000;

type Container = PlainObject | unknown[];

const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null;

/** Why an operation cannot be applied, with the original's text. */
class Inapplicable extends Error {}

/** A test operation that failed. */
class TestFailed extends Inapplicable {}

const missing = (what: string): Inapplicable => new Inapplicable(`${what}: missing value`);

const typeOf = (value: unknown): string => {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'object') return 'object';
  return typeof value === 'boolean' ? 'bool' : 'number';
};

/** Why a member of an operation is no text. */
const notText = (field: 'path' | 'from', value: unknown): string => {
  if (value === undefined || value === null) return `operation${field === 'from' ? ',' : ''} missing ${field} field: missing value`;
  return `json: cannot unmarshal ${typeOf(value)} into Go value of type string`;
};

const pathOf = ({op, path}: JsonPatchOperation): string => {
  if (typeof path === 'string') return path;
  const detail = ['add', 'remove', 'copy'].includes(op as string) ? 'missing value' : notText('path', path);
  throw new Inapplicable(`${op as string} operation failed to decode path: ${detail}`);
};

const fromOf = ({op, from}: JsonPatchOperation): string => {
  if (typeof from === 'string') return from;
  throw new Inapplicable(`${op as string} operation failed to decode from: ${notText('from', from)}`);
};

/** Adds the operation to the text of an error thrown within it. */
const within = <T>(act: string, run: () => T): T => {
  try {
    return run();
  } catch (error) {
    throw error instanceof Inapplicable ? new Inapplicable(`${act}: ${error.message}`, {cause: error}) : error;
  }
};

/** Parses an index as the original does: a signed decimal, negative from the end. At most `length`, which appends. */
const indexIn = (key: string, length: number): number => {
  if (!/^[+-]?[0-9]{1,9}$/.test(key)) throw new Inapplicable(`strconv.Atoi: parsing ${JSON.stringify(key)}: invalid syntax`);
  const index = Number(key) < 0 ? Number(key) + length : Number(key);
  if (index < 0 || index >= length) throw new Inapplicable(`Unable to access invalid index: ${Number(key)}: invalid index referenced`);
  return index;
};

/** A member and the container it is in. */
interface Place {
  readonly container: Container;
  readonly key: string;
}

/** Called with each value before a `copy` operation copies it; may throw. */
export type Copying = (value: unknown) => void;

/** A document being patched. */
class Document {
  #root: unknown;
  #copiedBytes = 0;
  #movedItems = 0;
  readonly #copying: Copying;
  readonly #literals: Literals | undefined;

  constructor(root: unknown, copying: Copying, literals: Literals | undefined) {
    this.#root = copied(root);
    this.#copying = copying;
    this.#literals = literals;
  }

  get root(): unknown {
    return this.#root;
  }

  apply(operation: JsonPatchOperation): void {
    const {op, value = null} = operation;
    switch (op) {
      case 'add':
        return this.#add(pathOf(operation), copied(value));
      case 'remove':
        return this.#remove(pathOf(operation));
      case 'replace':
        return this.#replace(pathOf(operation), copied(value));
      case 'move':
        return this.#move(operation);
      case 'copy':
        return this.#copy(operation);
      case 'test':
        return this.#test(pathOf(operation), value);
      default:
        throw new Inapplicable(`Unexpected kind: ${typeof op === 'string' ? op : 'unknown'}`);
    }
  }

  /** Compares the literals of scalars, as the original does: 1.0 is not 1. */
  #test(path: string, value: unknown): void {
    if (!sameJson(path === '' ? this.#root : (this.#tested(path) ?? null), value))
      throw new TestFailed(`testing value ${path} failed: test failed`);
  }

  /** Returns the place of a path, whether the member exists or not; undefined if its parent does not exist. */
  #find(path: string): Place | undefined {
    const parts = path.split('/').slice(1).map(unescaped);
    const key = parts.pop();
    if (key === undefined) return undefined;
    let container: unknown = this.#root;
    for (const part of parts) {
      if (!isContainer(container) || (Array.isArray(container) && !isIndex(part, container.length))) return undefined;
      container = member(container, part);
    }
    return isContainer(container) ? {container, key} : undefined;
  }

  #place(path: string, errorText: string): Place {
    const place = this.#find(path);
    if (!place) throw missing(errorText);
    return place;
  }

  #tested(path: string): unknown {
    const {container, key} = this.#place(path, `test operation does not apply: is missing path: ${path}`);
    return within(`error in test for path: '${path}'`, () => member(container, key));
  }

  #add(path: string, value: unknown): void {
    const place = this.#place(path, `add operation does not apply: doc is missing path: ${JSON.stringify(path)}`);
    within(`error in add for path: '${path}'`, () => this.#insert(place, value));
  }

  #remove(path: string): void {
    const place = this.#place(path, `remove operation does not apply: doc is missing path: ${JSON.stringify(path)}`);
    within(`error in remove for path: '${path}'`, () => this.#drop(place));
  }

  /** Sets a missing key of an object, as the original does; a missing index is an error. */
  #replace(path: string, value: unknown): void {
    if (path === '') {
      if (!isContainer(value)) throw new Inapplicable('replace operation value must be object or array: %!w(<nil>)');
      this.#root = value;
      return;
    }
    const {container, key} = this.#place(path, `replace operation does not apply: doc is missing path: ${path}`);
    if (!Array.isArray(container)) return setProperty(container, key, value);
    if (!isIndex(key, container.length)) throw missing(`replace operation does not apply: doc is missing key: ${path}`);
    container[indexIn(key, container.length)] = value;
  }

  #move(operation: JsonPatchOperation): void {
    const from = fromOf(operation);
    const source = this.#place(from, `move operation does not apply: doc is missing from path: ${from}`);
    const moved = within(`error in move for path: '${source.key}'`, () => {
      const value = member(source.container, source.key);
      this.#drop(source);
      return value;
    });
    const path = pathOf(operation);
    const target = this.#place(path, `move operation does not apply: doc is missing destination path: ${path}`);
    within(`error in move for path: '${path}'`, () => this.#insert(target, moved));
  }

  #copy(operation: JsonPatchOperation): void {
    const from = fromOf(operation);
    const {container, key} = this.#place(from, `copy operation does not apply: doc is missing from path: ${from}`);
    const value = within(`error in copy for from: '${from}'`, () => member(container, key));
    const path = pathOf(operation);
    const target = this.#place(path, `copy operation does not apply: doc is missing destination path: ${path}`);
    this.#copying(value);
    if (isNestedDeeper(value, maxDepth)) throw new Inapplicable('the copied value is nested too deeply');
    const text = jsonText(value) as string | undefined;
    this.#copiedBytes += text?.length ?? 0;
    if (this.#copiedBytes > maxCopiedBytes) {
      throw new Inapplicable(
        `Unable to complete the copy, the accumulated size increase of copy is ${this.#copiedBytes}, exceeding the limit ${maxCopiedBytes}`,
      );
    }
    const copy = copied(this.#literals ? this.#literals.rewritten(value) : value);
    within('error while adding value during copy', () => this.#insert(target, copy ?? null));
  }

  #insert({container, key}: Place, value: unknown): void {
    if (!Array.isArray(container)) setProperty(container, key, value);
    else if (key === '-') container.push(value);
    else {
      const index = indexIn(key, container.length + 1);
      this.#countMoved(container, index);
      container.splice(index, 0, value);
    }
  }

  #drop({container, key}: Place): void {
    if (Array.isArray(container)) {
      const index = indexIn(key, container.length);
      this.#countMoved(container, index);
      container.splice(index, 1);
      return;
    }
    if (!Object.hasOwn(container, key)) throw missing(`Unable to remove nonexistent key: ${key}`);
    delete container[key];
  }

  /** Counts the items after an index, which an insertion or removal moves. */
  #countMoved(list: readonly unknown[], index: number): void {
    this.#movedItems += list.length - index;
    if (this.#movedItems > maxMovedItems) throw new Inapplicable(`the operations move more than ${maxMovedItems} items of lists`);
  }
}

const isIndex = (key: string, length: number): boolean => {
  try {
    return indexIn(key, length) >= 0;
  } catch {
    return false;
  }
};

const member = (container: Container, key: string): unknown => {
  if (Array.isArray(container)) return container[indexIn(key, container.length)];
  return Object.hasOwn(container, key) ? container[key] : undefined;
};

/** Reports whether a patch failed because of a test operation. */
export const isTestFailure = (error: unknown): boolean => error instanceof StatusError && error.cause instanceof TestFailed;

/**
 * Applies all operations and returns the new document, with literals where the patch has some. The input is not
 * changed. Throws a 422 if any operation fails, with the original's text as its cause, and what `copying` throws.
 */
export const applyJsonPatch = (document: unknown, {operations, literals}: JsonPatch, copying: Copying = () => undefined): unknown => {
  const changed = new Document(document, copying, literals);
  try {
    for (const operation of operations) changed.apply(operation);
  } catch (error) {
    throw error instanceof Inapplicable ? unprocessable(error) : error;
  }
  if (isNestedDeeper(changed.root, maxDepth)) throw unprocessable('the document is nested too deeply');
  return changed.root;
};
