import {jsonText, parseJson} from '#src/base/json.js';
import {isPlainObject} from '#src/schema/decode/plain.js';
import type {FieldSet} from './field-set.js';
import {isMember} from './field-set.js';

/** An item of a set. */
export const valueElement = (value: unknown): string => `v:${jsonText(value)}`;
/** An item of a list that is keyed; the keys come sorted by name. */
export const keyElement = (keys: readonly (readonly [name: string, value: unknown])[]): string =>
  `k:{${keys.map(([name, value]) => `${JSON.stringify(name)}:${jsonText(value)}`).join(',')}}`;

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : a > b ? 1 : 0);

/** The keys an element names, sorted by name. */
const keysOf = (element: string): [string, unknown][] => Object.entries(parseJson(element.slice(2)) as Record<string, unknown>).sort(byName);

/**
 * An element as it came from outside in the one spelling it has here. Undefined for a kind of element that is not known, which is to be passed
 * over; throws for what is no element.
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

const shown = (value: unknown): string => (value === null ? 'null' : JSON.stringify(value));

/** An element as messages show it: `.image`, `[name="app"]`, `[="x"]`, `[3]`. */
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

export const shownPath = (path: readonly string[]): string => path.map(formatElement).join('');

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

/** An element with what it names, read once. */
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

const isRising = <T>(items: readonly T[], compare: (a: T, b: T) => number): boolean => items.every((item, at) => at === 0 || compare(items[at - 1]!, item) <= 0);
const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Elements in the order of the wire: fields, keyed items, values, indices; each by what it names. Yields the list itself where they stand so. */
export const inElementOrder = (elements: readonly string[]): readonly string[] => {
  if (elements.length < 2) return elements;
  if (elements.every(element => element[0] === 'f' || element === '.')) return isRising(elements, compareTexts) ? elements : elements.toSorted(compareTexts);
  const all = elements.map(read);
  return isRising(all, compareRead) ? elements : all.sort(compareRead).map(({element}) => element);
};

/** The paths of all fields in a set: at each level first the fields themselves, then what lies below. */
export function* pathsOf(set: FieldSet, prefix: readonly string[] = []): Generator<readonly string[]> {
  const elements = inElementOrder(Object.keys(set).filter(element => element !== '.'));
  for (const element of elements) if (isMember(set[element]!)) yield [...prefix, element];
  for (const element of elements) yield* pathsOf(set[element]!, [...prefix, element]);
}
