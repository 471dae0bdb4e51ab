import {jsonText, parseJson} from '#src/base/json/json.js';
import {isNestedDeeper, isPlainObject} from '#src/schema/decode/plain.js';
import {isMember, leaf, nodeOf, unionOf, type FieldSet, type MutableFieldSet} from './field-set.js';

// The wire form of field sets and of their path elements: `f:` a field, `k:` an item by keys, `v:` an item by value,
// `i:` an item by index. Elements are encoded, normalized, ordered and formatted, sets are decoded and ordered.

/** Returns the path element of a set's item. */
export const valueElement = (value: unknown): string => `v:${jsonText(value)}`;
/** Returns the path element of an associative list's item; the keys must be sorted by name. */
export const keyElement = (keys: readonly (readonly [name: string, value: unknown])[]): string =>
  `k:{${keys.map(([name, value]) => `${JSON.stringify(name)}:${jsonText(value)}`).join(',')}}`;

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : a > b ? 1 : 0);

/** Returns the keys of a path element, sorted by name. */
const keysOf = (element: string): [string, unknown][] =>
  Object.entries(parseJson(element.slice(2)) as Record<string, unknown>).sort(byName);

/**
 * Returns the canonical spelling of a path element received from outside. Returns undefined for an unknown type of element, which is skipped; throws for a
 * malformed element.
 */
export const canonicalElement = (text: string): string | undefined => {
  if (text.length < 2) throw new Error('key must be 2 characters long:');
  if (text[1] !== ':') throw new Error(`missing colon: ${text}`);
  switch (text[0]) {
    case 'f':
      return text;
    case 'v':
      return valueElement(parseJson(text.slice(2)));
    case 'k':
      if (!isPlainObject(parseJson(text.slice(2)))) throw new Error(`not an object: ${text}`);
      return keyElement(keysOf(text));
    case 'i':
      if (!/^i:[+-]?\d+$/.test(text)) throw new Error(`invalid syntax: ${text}`);
      return `i:${Number(text.slice(2))}`;
    default:
      return undefined;
  }
};

const shown = (value: unknown): string => jsonText(value);

/** Formats a path element for messages: `.image`, `[name="app"]`, `[="x"]`, `[3]`. */
export const formatElement = (element: string): string => {
  const content = element.slice(2);
  switch (element[0]) {
    case 'k':
      return `[${keysOf(element)
        .map(([name, value]) => `${name}=${shown(value)}`)
        .join(',')}]`;
    case 'v':
      return `[=${shown(parseJson(content))}]`;
    case 'i':
      return `[${content}]`;
    default:
      return `.${content}`;
  }
};

export const formatPath = (path: readonly string[]): string => path.map(formatElement).join('');

const ranks: Readonly<Record<string, number>> = {number: 0, string: 1, boolean: 2, object: 3};

const compareValues = (a: unknown, b: unknown): number => {
  const rank = (ranks[typeof a] ?? 3) - (ranks[typeof b] ?? 3);
  if (rank !== 0) return rank;
  return a === b ? 0 : (a as string) < (b as string) ? -1 : 1;
};

const compareKeys = (left: readonly (readonly [string, unknown])[], right: readonly (readonly [string, unknown])[]): number => {
  for (const [index, [name, value]] of left.entries()) {
    const other = right[index];
    if (!other) return 1;
    const order = byName([name, value], other) || compareValues(value, other[1]);
    if (order !== 0) return order;
  }
  return left.length - right.length;
};

const kinds = '.fkvi';

/** A path element and its parsed content. */
interface ParsedElement {
  readonly element: string;
  readonly named: unknown;
}

const read = (element: string): ParsedElement => {
  switch (element[0]) {
    case 'k':
      return {element, named: keysOf(element)};
    case 'v':
      return {element, named: parseJson(element.slice(2))};
    case 'i':
      return {element, named: Number(element.slice(2))};
    default:
      return {element, named: undefined};
  }
};

const compareRead = ({element: a, named: left}: ParsedElement, {element: b, named: right}: ParsedElement): number => {
  if (a === b) return 0;
  const kind = kinds.indexOf(a[0]!) - kinds.indexOf(b[0]!);
  if (kind !== 0) return kind;
  switch (a[0]) {
    case 'k':
      return compareKeys(left as [string, unknown][], right as [string, unknown][]);
    case 'v':
      return compareValues(left, right);
    case 'i':
      return (left as number) - (right as number);
    default:
      return a < b ? -1 : 1;
  }
};

const isRising = <T>(items: readonly T[], compare: (a: T, b: T) => number): boolean => {
  for (let at = 1; at < items.length; at++) if (compare(items[at - 1]!, items[at]!) > 0) return false;
  return true;
};
const areFields = (elements: readonly string[]): boolean => {
  for (const element of elements) if (element[0] !== 'f' && element !== '.') return false;
  return true;
};
const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Returns path elements in wire order: fields, keyed items, values, indexes, each by content. Returns the list itself if it is in order. */
export const inElementOrder = (elements: readonly string[]): readonly string[] => {
  if (elements.length < 2) return elements;
  if (areFields(elements)) return isRising(elements, compareTexts) ? elements : elements.toSorted(compareTexts);
  const all = elements.map(read);
  return isRising(all, compareRead) ? elements : all.sort(compareRead).map(({element}) => element);
};

/** Yields the paths of all fields in a set: at each level the fields themselves first, then the paths below. */
export function* pathsOf(set: FieldSet, prefix: readonly string[] = []): Generator<readonly string[]> {
  const elements = inElementOrder(Object.keys(set).filter(element => element !== '.'));
  for (const element of elements) if (isMember(set[element]!)) yield [...prefix, element];
  for (const element of elements) yield* pathsOf(set[element]!, [...prefix, element]);
}

/** Deeper sets are rejected; no schema has as many levels. */
const maxDepth = 200;

/** Decodes a set received from outside. Throws for a malformed one; elements of an unknown type are skipped. */
export const decodeFields = (fields: unknown): FieldSet => {
  if (fields === undefined || fields === null) return leaf;
  if (isNestedDeeper(fields, maxDepth)) throw new Error('fields are nested too deeply');
  return decodeNode(fields).below ?? leaf;
};

const decodeNode = (fields: unknown): {member: boolean; below: FieldSet | undefined} => {
  if (!isPlainObject(fields)) throw new Error('fields must be an object');
  const sets: MutableFieldSet[] = [];
  let member = false;
  for (const key of Object.keys(fields)) {
    if (key === '.') {
      member = true;
      continue;
    }
    const element = canonicalElement(key);
    if (element === undefined) continue;
    const decoded = decodeNode(fields[key]);
    const node = nodeOf(decoded.member, decoded.below)!;
    // The same element can be written in different ways.
    let set = sets.at(-1);
    if (!set || element in set) sets.push((set = {}));
    set[element] = node;
  }
  return {member: member || sets.length === 0, below: sets.length === 0 ? undefined : unionOf(sets)};
};

/** Returns the set with its elements in wire order; the set itself if they already are. */
export const inWireOrder = (set: FieldSet): FieldSet => {
  if (set === leaf) return set;
  let changed: MutableFieldSet | undefined;
  for (const key in set) {
    const node = set[key]!;
    const ordered = inWireOrder(node);
    if (ordered !== node) (changed ??= {...set})[key] = ordered;
  }
  const nodes = changed ?? set;
  const keys = Object.keys(nodes);
  const sorted = inElementOrder(keys);
  if (sorted === keys) return nodes;
  const result: MutableFieldSet = {};
  for (const key of sorted) result[key] = nodes[key]!;
  return result;
};
