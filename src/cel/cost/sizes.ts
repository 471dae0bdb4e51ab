import {mostOf} from '#src/base/extremes.js';
import {asRoot} from '#src/cel/schema/schema-types.js';
import {escaped} from '#src/cel/values/escape.js';
import type {SchemaNode} from '#src/schema/node.js';
import type {Range, SizeAt} from '#src/cel/check/range.js';

/** The largest request that the API server accepts, in bytes. */
const largestRequest = 3 * 1024 * 1024;

/** The longest string without a limit of its own: a whole request minus the quotes. */
const longestText = largestRequest - 2;

/** The shortest and the longest JSON strings of a format. */
const timeFormats: Readonly<Record<string, {readonly least: number; readonly most: number}>> = {
  duration: {least: 3, most: 32},
  date: {least: 12, most: 12},
  'date-time': {least: 21, most: 32},
};

/** The size limits of the values that a schema describes. */
interface Extent {
  /** The maximum number of characters, elements or entries; zero for values without a size. */
  readonly most: number;
  /** The minimum number of bytes as JSON. */
  readonly least: number;
  readonly fields?: ReadonlyMap<string, SchemaNode>;
  /** The schema of a list's elements or a map's values. */
  readonly held?: SchemaNode;
  readonly isMap?: boolean;
}

const textOrNumber = 1;
const positive = (limit: number | undefined): number | undefined => (limit === undefined ? undefined : Math.max(Number(limit), 0));

/** `maxLength` counts characters, and a character takes up to four bytes. */
const longest = ({source}: SchemaNode): number | undefined => {
  const limit = positive(source?.maxLength);
  return limit === undefined ? undefined : limit * 4;
};

const ofText = (node: SchemaNode): Extent => {
  const {format = '', source} = node;
  const time = timeFormats[format];
  if (time) return {least: time.least, most: time.most};
  if (format === 'byte') return {least: 2, most: positive(source?.maxLength) ?? longestText};
  const choices = (source?.enum ?? []).map(choice => (typeof choice === 'string' ? Buffer.byteLength(choice) : 0));
  return {least: 2, most: longest(node) ?? (choices.length > 0 ? mostOf(choices) : longestText)};
};

const ofObject = (node: SchemaNode): Extent => {
  const fields = new Map<string, SchemaNode>();
  let least = 2;
  for (const [name, field] of node.properties ?? []) {
    const extent = extentOf(field);
    if (!extent) continue;
    const key = escaped(name);
    if (key !== undefined) fields.set(key, field);
    if (node.required?.has(name) && (field.default ?? null) === null) least += Buffer.byteLength(name) + extent.least + 4;
  }
  return {least, most: 0, fields};
};

const measure = (node: SchemaNode): Extent | undefined => {
  if (node.format === 'int-or-string') return {least: textOrNumber, most: longest(node) ?? longestText};
  const {items, source} = node;
  switch (node.type) {
    case 'array': {
      const element = items && extentOf(items);
      return element && {least: 2, most: positive(source?.maxItems) ?? Math.floor(longestText / (element.least + 1)), held: items};
    }
    case 'map': {
      if (!items) return ofObject(node);
      const value = extentOf(items);
      return (
        value && {least: 2, most: positive(source?.maxProperties) ?? Math.floor(longestText / (value.least + 6)), held: items, isMap: true}
      );
    }
    case 'object':
      return ofObject(node);
    case 'string':
      return ofText(node);
    case 'boolean':
      return {least: 4, most: 0};
    case 'number':
    case 'integer':
      return {least: 1, most: 0};
    default:
      return undefined;
  }
};

const known = new WeakMap<SchemaNode, Extent | undefined>();

const extentOf = (node: SchemaNode, isRoot = node.embedded === true): Extent | undefined => {
  const seen = isRoot ? asRoot(node) : node;
  if (!known.has(seen)) known.set(seen, measure(seen));
  return known.get(seen);
};

const keyExtent: Extent = {least: 2, most: 0};

const extentBelow = (extent: Extent, step: string): Extent | undefined => {
  if (step === '@items' || step === '@values') return extent.held && extentOf(extent.held);
  if (step === '@keys') return extent.isMap ? keyExtent : undefined;
  const field = extent.fields?.get(step);
  return field && extentOf(field);
};

/** Returns the sizes of values below a variable of this schema. `isRoot` is set for whole objects. */
export const sizesIn =
  (node: SchemaNode, isRoot = node.embedded === true): SizeAt =>
  (path): Range | undefined => {
    if (path.length === 0) return undefined;
    let extent = extentOf(node, isRoot);
    for (const step of path.slice(1)) extent = extent && extentBelow(extent, step);
    return extent && {min: 0, max: extent.most};
  };

/**
 * Returns how many values of a schema an object can contain at most, given the request size limit: each takes its
 * minimum size and a comma.
 */
export const mostOccurrences = (node: SchemaNode, isRoot = node.embedded === true): number =>
  Math.floor(largestRequest / ((extentOf(node, isRoot)?.least ?? 0) + 1));
