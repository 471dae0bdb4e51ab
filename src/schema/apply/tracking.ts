import type {PlainObject} from '#src/schema/decode/plain.js';
import type {SchemaNode} from '#src/schema/node.js';
import {compareObjects, type Difference} from './compare.js';
import {isEmpty, noFields, type FieldSet, type MutableFieldSet} from './field-set.js';

// Ownership across versions: the writer of a request, the fields its endpoint writes, and its changes as seen in the
// version of each manager.

/** The schemas of a kind's versions by apiVersion, and conversion between them. */
export interface Versions {
  /** Returns undefined for a version whose managed fields are dropped: one that is not served (any more). */
  schemaOf(apiVersion: string): SchemaNode | undefined;
  /** Converts the object to another version, possibly the same one. Does not change the object. */
  convert(object: PlainObject, from: string, to: string): PlainObject;
}

/** The writer of a request: field manager, endpoint, version and time. */
export interface Writer {
  /** The manager's name; may be empty. */
  readonly manager: string;
  /** Empty for the main endpoint. */
  readonly subresource: string;
  /** The version of the request. */
  readonly apiVersion: string;
  /** The time in wire format; undefined for entries without a time. */
  readonly time: string | undefined;
  /** The fields the endpoint writes, as dotted paths; undefined for all. */
  readonly writes: Writes | undefined;
  readonly versions: Versions;
}

/** A precomputed list of dotted paths, or of all top-level fields with exceptions. */
export class Writes {
  /** The top-level fields of the paths; undefined for all fields. */
  readonly top: ReadonlySet<string> | undefined;
  readonly #tree: PathTree = {};
  readonly #nested: boolean;
  readonly #others: readonly string[] | undefined;

  constructor(paths: readonly string[] | {readonly allBut: readonly string[]}) {
    if ('allBut' in paths) {
      this.#others = paths.allBut.map(field => `f:${field}`);
      this.#nested = false;
      return;
    }
    const parts = paths.map(path => path.split('.'));
    this.top = new Set(parts.map(([first]) => first!));
    this.#nested = parts.some(({length}) => length > 1);
    for (const path of parts) insertPath(this.#tree, path);
  }

  /** Returns the fields of a set that lie at or below one of the paths, without the containers above them. */
  within(set: FieldSet): FieldSet {
    return this.#others ? without(set, this.#others) : within(set, this.#tree);
  }

  /** Does the same for a set whose top-level fields are already restricted to `top`. */
  withinTop(set: FieldSet): FieldSet {
    return this.#others ? without(set, this.#others) : this.#nested ? within(set, this.#tree) : set;
  }
}

const without = (set: FieldSet, elements: readonly string[]): FieldSet => {
  if (!elements.some(element => set[element])) return set;
  const result: MutableFieldSet = {...set};
  for (const element of elements) delete result[element];
  return isEmpty(result) ? noFields : result;
};

/** `true` marks the end of a path. */
interface PathTree {
  [element: string]: PathTree | true;
}

const insertPath = (tree: PathTree, path: readonly string[]): void => {
  const [first, ...rest] = path;
  const element = `f:${first}`;
  if (tree[element] === true) return;
  if (rest.length === 0) tree[element] = true;
  else insertPath((tree[element] ??= {}) as PathTree, rest);
};

const within = (set: FieldSet, tree: PathTree): FieldSet => {
  let result: MutableFieldSet | undefined;
  for (const element in set) {
    const kept = tree[element];
    const node = set[element]!;
    const left = kept === true ? node : kept && within(node, kept);
    if (left && (kept === true || left !== noFields)) (result ??= {})[element] = left;
  }
  return result ?? noFields;
};

/** What a write changed, computed lazily in every version that managers use. A set without fields is `noFields`. */
export class Differences {
  readonly #before: PlainObject;
  readonly #after: PlainObject;
  readonly #writer: Writer;
  readonly #others = new Map<string, Difference | undefined>();
  readonly own: Difference;

  constructor(before: PlainObject, after: PlainObject, node: SchemaNode, writer: Writer) {
    this.#before = before;
    this.#after = after;
    this.#writer = writer;
    this.own = restricted(compareObjects(before, after, node, writer.writes?.top), writer.writes);
  }

  get none(): boolean {
    return this.own.changed === noFields && this.own.removed === noFields;
  }

  /** Returns the difference in a version; undefined for one that is not served. */
  under(apiVersion: string): Difference | undefined {
    if (apiVersion === this.#writer.apiVersion) return this.own;
    if (!this.#others.has(apiVersion)) this.#others.set(apiVersion, this.#compare(apiVersion));
    return this.#others.get(apiVersion);
  }

  #compare(apiVersion: string): Difference | undefined {
    const {versions, apiVersion: own, writes} = this.#writer;
    const node = versions.schemaOf(apiVersion);
    if (!node) return undefined;
    const before = versions.convert(this.#before, own, apiVersion);
    const after = versions.convert(this.#after, own, apiVersion);
    return restricted(compareObjects(before, after, node, writes?.top), writes);
  }
}

const restricted = ({changed, removed}: Difference, writes: Writes | undefined): Difference =>
  writes ? {changed: writes.withinTop(changed), removed: writes.withinTop(removed)} : {changed, removed};
