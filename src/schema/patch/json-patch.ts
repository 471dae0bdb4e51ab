import {sameJson} from '#src/api/equal.js';
import {copied, deepest, isNestedDeeper, put, type PlainObject} from '#src/schema/decode/plain.js';
import {unprocessable} from './errors.js';

/** One step of a JSON patch (RFC 6902 §4), as it was sent: what it lacks makes it fail. */
export interface JsonPatchOperation {
  readonly op?: string;
  readonly path?: string;
  readonly from?: string;
  readonly value?: unknown;
}

/** How much a patch may grow its document by copying. */
const mostCopiedBytes = 3 * 1024 * 1024;

const unescaped = (part: string): string => part.replaceAll(/~[01]/g, escape => (escape === '~1' ? '/' : '~'));

type Container = PlainObject | unknown[];

const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null;

/** An index by the original's reading: decimal with a sign, below zero from the end. Not above `length`, where appending is meant. */
const indexIn = (key: string, length: number): number => {
  if (!/^[+-]?[0-9]{1,9}$/.test(key)) throw unprocessable(`"${key}" is no index`);
  const index = Number(key) < 0 ? Number(key) + length : Number(key);
  if (index < 0 || index >= length) throw unprocessable(`the index ${key} is out of range`);
  return index;
};

/** A document under change. All failures are the same 422. */
class Document {
  #root: unknown;
  #copiedBytes = 0;

  constructor(root: unknown) {
    this.#root = copied(root);
  }

  get root(): unknown {
    return this.#root;
  }

  apply({op, path, from, value = null}: JsonPatchOperation): void {
    if (path === undefined) throw unprocessable('the operation has no path');
    switch (op) {
      case 'add':
        return this.#add(path, copied(value));
      case 'remove':
        return this.#remove(path);
      case 'replace':
        return this.#replace(path, copied(value));
      case 'move': {
        const moved = this.#get(from ?? '');
        this.#remove(from ?? '');
        return this.#add(path, moved);
      }
      case 'copy':
        return this.#add(path, this.#copy(from ?? ''));
      case 'test':
        if (!sameJson(path === '' ? this.#root : (this.#get(path) ?? null), value)) throw unprocessable(`testing value ${path} failed`);
        return undefined;
      default:
        throw unprocessable(`unexpected kind: ${op}`);
    }
  }

  #find(path: string): {container: Container; key: string} {
    const parts = path.split('/').slice(1).map(unescaped);
    const key = parts.pop();
    if (key === undefined) throw unprocessable(`the path "${path}" names nothing`);
    let container: unknown = this.#root;
    for (const part of parts) container = isContainer(container) ? member(container, part) : undefined;
    if (!isContainer(container)) throw unprocessable(`the document has no path ${path}`);
    return {container, key};
  }

  #get(path: string): unknown {
    const {container, key} = this.#find(path);
    return member(container, key);
  }

  #copy(from: string): unknown {
    const value = this.#get(from);
    if (isNestedDeeper(value, deepest)) throw unprocessable('the copied value is nested too deeply');
    const text = JSON.stringify(value) as string | undefined;
    this.#copiedBytes += text?.length ?? 0;
    if (this.#copiedBytes > mostCopiedBytes) throw unprocessable('copying grows the document too much');
    return copied(value) ?? null;
  }

  #add(path: string, value: unknown): void {
    const {container, key} = this.#find(path);
    if (!Array.isArray(container)) put(container, key, value);
    else if (key === '-') container.push(value);
    else container.splice(indexIn(key, container.length + 1), 0, value);
  }

  #remove(path: string): void {
    const {container, key} = this.#find(path);
    if (Array.isArray(container)) {
      container.splice(indexIn(key, container.length), 1);
    } else {
      if (!Object.hasOwn(container, key)) throw unprocessable(`unable to remove the nonexistent key ${key}`);
      delete container[key];
    }
  }

  /** A missing key of an object is set, as the original does it; a missing index is an error. */
  #replace(path: string, value: unknown): void {
    if (path === '') {
      if (!isContainer(value)) throw unprocessable('a document is an object or an array');
      this.#root = value;
      return;
    }
    const {container, key} = this.#find(path);
    if (Array.isArray(container)) container[indexIn(key, container.length)] = value;
    else put(container, key, value);
  }
}

const member = (container: Container, key: string): unknown => {
  if (Array.isArray(container)) return container[indexIn(key, container.length)];
  return Object.hasOwn(container, key) ? container[key] : undefined;
};

/** The document after all steps. The input stays as it is. Throws a 422 when any step fails; then no step counts. */
export const applyJsonPatch = (document: unknown, operations: readonly JsonPatchOperation[]): unknown => {
  const changed = new Document(document);
  for (const operation of operations) changed.apply(operation);
  if (isNestedDeeper(changed.root, deepest)) throw unprocessable('the document is nested too deeply');
  return changed.root;
};
