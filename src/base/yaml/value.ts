// The JSON value of a parsed document, as the original derives it: keys become strings, merge keys and aliases are
// expanded, the last of repeated keys wins.

import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  visit,
  type Alias,
  type Document,
  type LineCounter,
  type Node,
  type Pair,
  type YAMLMap,
} from 'yaml';
import {setProperty} from '#src/base/json/set-property.js';
import {formatSingle} from '#src/base/text/double.js';
import {malformed, YamlError} from './error.js';
import {formatKey, formatMember} from './go-syntax.js';
import {jsonValueOf, resolved, type Scalar} from './scalar.js';

/** A key that an object has twice. */
export interface RepeatedKey {
  readonly key: string;
  readonly line: number;
}

/** The value of a document, and its repeated keys up to a number. */
export interface YamlValue {
  readonly value: unknown;
  readonly repeated: readonly RepeatedKey[];
}

/** How many repeated keys are reported. */
const maxRepeated = 100;
/** How deep values are nested with aliases expanded. A deeper one is refused by whoever reads it. */
const deepest = 2000;
/** What aliases may add to a text, in characters. */
const maxAliased = 3 * 1024 * 1024;

const merging = 'tag:yaml.org,2002:merge';

/**
 * The number of values from which on the share of those that come from aliases is limited: from 99 % down to 10 % of
 * ten times as many.
 */
const [fewValues, manyValues] = [400_000, 4_000_000];
const aliasedShare = (values: number): number =>
  0.99 - (0.89 * (Math.min(Math.max(values, fewValues), manyValues) - fewValues)) / (manyValues - fewValues);

/** What a collection holds; a text is one that was added to a document that was read. */
type Item = Node | Pair | string | null | undefined;

/** An object while it is read: with the keys that it has so far, by type and value. */
interface Open {
  readonly object: Record<string, unknown>;
  readonly keys: Set<string>;
}

const scalarOf = (node: Node): Scalar => {
  if (!isScalar(node)) throw new TypeError('only scalars have a type');
  if (node.source === undefined) return {type: 'str', value: String(node.value)}; // It was not read, but added.
  const text = node.source;
  return node.tag === undefined && node.type !== 'PLAIN' ? {type: 'str', value: text} : resolved(text, node.tag);
};

const isMerge = (key: unknown): boolean =>
  isScalar(key) && key.source === '<<' && (key.tag === undefined ? key.type === 'PLAIN' : key.tag === '!' || key.tag === merging);

/** Returns the node that each alias refers to: the last before it that has the anchor. */
const targetsOf = (document: Document): ReadonlyMap<Alias, Node> => {
  const anchors = new Map<string, Node>();
  const targets = new Map<Alias, Node>();
  visit(document, {
    Alias(_, alias) {
      const target = anchors.get(alias.source);
      if (!target) throw malformed(`unknown anchor '${alias.source}' referenced`);
      targets.set(alias, target);
    },
    Value(_, node) {
      if (node.anchor) anchors.set(node.anchor, node);
    },
  });
  return targets;
};

class Reader {
  readonly #lines: LineCounter;
  readonly #targets: ReadonlyMap<Alias, Node>;
  readonly #expanding = new Set<Alias>();
  readonly repeated: RepeatedKey[] = [];
  #values = 0;
  #aliased = 0;
  #aliasedSize = 0;
  #depth = 0;

  constructor(document: Document, lines: LineCounter) {
    this.#lines = lines;
    this.#targets = targetsOf(document);
  }

  read(node: Item): unknown {
    if (isAlias(node)) return this.#expanded(node, target => this.read(target));
    this.#count();
    if (isMap(node)) return this.#nested(() => this.#map(node, {object: {}, keys: new Set()}));
    if (isSeq(node)) return this.#nested(() => node.items.map(item => this.read(item as Item)));
    if (!isScalar(node)) return node ?? null;
    this.#size(node.source?.length ?? 0);
    return jsonValueOf(scalarOf(node));
  }

  #map(map: YAMLMap, open: Open): Record<string, unknown> {
    for (const {key, value} of map.items as Pair<Node, Node | null>[]) {
      if (isMerge(key)) {
        this.#merge(value, open);
        continue;
      }
      const found = this.#keyOf(key);
      const item = this.read(value);
      const name = nameOf(found, item);
      const identity = `${found.type} ${name}`;
      if (open.keys.has(identity) && this.repeated.length < maxRepeated) {
        this.repeated.push({key: formatKey(found), line: this.#lineOf(value) || this.#lineOf(key)});
      }
      open.keys.add(identity);
      setProperty(open.object, name, item);
    }
    return open.object;
  }

  #keyOf(key: Item): Scalar {
    this.#count();
    if (isAlias(key)) return this.#expanded(key, target => this.#keyOf(target));
    if (isMap(key) || isSeq(key)) throw malformed(`invalid map key: ${formatMember(this.read(key))}`);
    if (!isScalar(key)) return typeof key === 'string' ? {type: 'str', value: key} : {type: 'null', value: null};
    this.#size(key.source?.length ?? 0);
    return scalarOf(key);
  }

  /** Adds what a merge key refers to. Of a list, the first object that has a key wins. */
  #merge(from: Item, open: Open): void {
    const sources = isSeq(from) ? (from.items as Item[]).toReversed() : [from];
    for (const source of sources) {
      const add = (node: Item): void => {
        if (!isMap(node)) throw malformed('map merge requires map or sequence of maps as the value');
        this.#count();
        this.#nested(() => this.#map(node, open));
      };
      if (isAlias(source)) this.#expanded(source, add);
      else add(source);
    }
  }

  #expanded<T>(alias: Alias, read: (target: Node) => T): T {
    this.#count();
    if (this.#expanding.has(alias)) throw malformed(`anchor '${alias.source}' value contains itself`);
    this.#expanding.add(alias);
    const value = read(this.#targets.get(alias)!);
    this.#expanding.delete(alias);
    return value;
  }

  #nested<T>(read: () => T): T {
    if (++this.#depth > deepest) throw malformed('exceeded max depth');
    const value = read();
    this.#depth--;
    return value;
  }

  #count(): void {
    this.#values++;
    if (this.#expanding.size === 0) return;
    this.#aliased++;
    this.#size(1);
    if (this.#aliased > 100 && this.#values > 1000 && this.#aliased / this.#values > aliasedShare(this.#values))
      throw malformed('document contains excessive aliasing');
  }

  #size(characters: number): void {
    if (this.#expanding.size === 0) return;
    this.#aliasedSize += characters;
    if (this.#aliasedSize > maxAliased) throw malformed('document contains excessive aliasing');
  }

  #lineOf(node: Item): number {
    const at = (node as Node | null | undefined)?.range?.[0];
    return at === undefined ? 0 : this.#lines.linePos(at).line;
  }
}

/** The name of an object's field. `value` is only for the error. */
const nameOf = (key: Scalar, value: unknown): string => {
  const isUnsigned = typeof key.value === 'bigint' && key.value >= 2n ** 63n;
  if (key.type === 'null' || isUnsigned) {
    const [type, text] = key.type === 'null' ? ['%!s(<nil>)', '<nil>'] : ['uint64', formatKey(key)];
    throw new YamlError(`unsupported map key of type: ${type}, key: ${text}, value: ${value === null ? '<nil>' : formatMember(value)}`);
  }
  if (key.type !== 'float') return String(key.value);
  return Number.isNaN(key.value) ? '.nan' : formatSingle(key.value).replace(/^\+?(-?)Inf$/, '$1.inf');
};

/** Returns the value of a document. Throws `YamlError` for one that the original does not accept. */
export const valueOf = (document: Document, lines: LineCounter): YamlValue => {
  const reader = new Reader(document, lines);
  return {value: reader.read(document.contents), repeated: reader.repeated};
};
