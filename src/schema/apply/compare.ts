import {sameJson} from '#src/api/equal.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import type {SchemaNode} from '#src/schema/node.js';
import {leaf, noFields, nodeOf, type FieldSet, type MutableFieldSet} from './field-set.js';
import {untypedNode, itemElement, mergeTypeOf, structFields, type MergeType} from './merge-type.js';

// Compares two states of an object by its schema and returns the changed and removed fields as field sets.

/** The differences between two states of an object. A field is in at most one of the sets. */
export interface Difference {
  /** Fields that were added or have another value. */
  readonly changed: FieldSet;
  readonly removed: FieldSet;
}

/** The differences at and below one field. */
interface NodeDifference {
  readonly changed?: FieldSet | undefined;
  readonly removed?: FieldSet | undefined;
}

const unchanged: Difference = {changed: noFields, removed: noFields};

/** Top-level fields that no manager owns. */
const untracked: ReadonlySet<string> = new Set(['apiVersion', 'kind']);
/** Fields of metadata that no manager owns (the API reference, server-side apply). */
export const untrackedMetadata: readonly string[] = [
  'name',
  'namespace',
  'creationTimestamp',
  'selfLink',
  'uid',
  'clusterName',
  'generation',
  'managedFields',
  'resourceVersion',
];
const skippedMetadata: ReadonlySet<string> = new Set(untrackedMetadata);

/**
 * Returns what changed from `before` to `after`, two states of an object under one schema, in the top-level fields of
 * `within` (default: all). Untracked fields are ignored. Fields that the type always writes count as present with their
 * zero value, also where the state omits them. Pass `{}` for a missing object.
 */
export const compareObjects = (before: PlainObject, after: PlainObject, node: SchemaNode, within?: ReadonlySet<string>): Difference => {
  const pair = new Fields();
  const fields = structFields(node);
  const visit = (key: string): void => {
    if (untracked.has(key) || (within && !within.has(key))) return;
    const field = fields?.get(key);
    const schema = field?.node ?? childSchema(node);
    const old = valueOf(before, key, field?.zero);
    const now = valueOf(after, key, field?.zero);
    const difference = key === 'metadata' ? compareMetadata(old, now, schema) : compareNodes(old, now, schema);
    if (difference) pair.add(field?.element ?? `f:${key}`, difference);
  };
  for (const key in after) visit(key);
  for (const key in before) if (!Object.hasOwn(after, key)) visit(key);
  return pair.changed || pair.removed ? {changed: pair.changed ?? noFields, removed: pair.removed ?? noFields} : unchanged;
};

/** Returns all changed and removed fields, including the untracked ones, to compare two whole values. */
export const compareWhole = (before: PlainObject, after: PlainObject, node: SchemaNode): Difference => {
  const {changed, removed} = compareFields(before, after, node) ?? {};
  return {changed: changed ?? noFields, removed: removed ?? noFields};
};

const compareMetadata = (old: unknown, now: unknown, node: SchemaNode): NodeDifference | undefined =>
  compareFields(isPlainObject(old) ? old : {}, isPlainObject(now) ? now : {}, node, skippedMetadata);

const childSchema = ({items}: SchemaNode): SchemaNode => items ?? untypedNode;

const valueOf = (object: PlainObject, key: string, zero: unknown): unknown => {
  const value = Object.hasOwn(object, key) ? object[key] : undefined;
  return value === undefined ? zero : value;
};

/** Collects the differences below one field. */
class Fields {
  changed: MutableFieldSet | undefined;
  removed: MutableFieldSet | undefined;

  add(element: string, difference: NodeDifference): void {
    if (difference.changed) (this.changed ??= {})[element] = difference.changed;
    if (difference.removed) (this.removed ??= {})[element] = difference.removed;
  }

  get difference(): NodeDifference | undefined {
    return this.changed || this.removed ? this : undefined;
  }
}

const compareNodes = (old: unknown, now: unknown, node: SchemaNode): NodeDifference | undefined => {
  if (old === now) return undefined;
  if (old === undefined) return {changed: wholeNode(now, node)};
  if (now === undefined) return {removed: wholeNode(old, node)};
  const shape = mergeTypeOf(node, old, now);
  if (shape === 'map' && hasFields(old, now)) return compareFields(isPlainObject(old) ? old : {}, isPlainObject(now) ? now : {}, node);
  if (shape === 'list' && hasItems(old, now)) return compareItems(Array.isArray(old) ? old : [], Array.isArray(now) ? now : [], node);
  return sameJson(old, now) ? undefined : {changed: leaf};
};

const isFilledObject = (value: unknown): boolean => {
  if (isPlainObject(value)) for (const _ in value) return true;
  return false;
};
const isFilledList = (value: unknown): boolean => Array.isArray(value) && value.length > 0;
const hasFields = (a: unknown, b: unknown): boolean => isFilledObject(a) || isFilledObject(b);
const hasItems = (a: unknown, b: unknown): boolean => isFilledList(a) || isFilledList(b);

const compareFields = (old: PlainObject, now: PlainObject, node: SchemaNode, skipped?: ReadonlySet<string>): NodeDifference | undefined => {
  const pair = new Fields();
  const fields = structFields(node);
  const schema = childSchema(node);
  for (const key in now) {
    if (skipped?.has(key)) continue;
    const field = fields?.get(key);
    const difference = compareNodes(valueOf(old, key, field?.zero), valueOf(now, key, field?.zero), field?.node ?? schema);
    if (difference) pair.add(field?.element ?? `f:${key}`, difference);
  }
  for (const key in old) {
    if (Object.hasOwn(now, key) || skipped?.has(key)) continue;
    const field = fields?.get(key);
    const difference = compareNodes(old[key], field?.zero, field?.node ?? schema);
    if (difference) pair.add(field?.element ?? `f:${key}`, difference);
  }
  return pair.difference;
};

/** Returns the items of a list by path element; an element can have several items. */
const itemsByElement = (list: readonly unknown[], node: SchemaNode): Map<string, unknown[]> => {
  const items = new Map<string, unknown[]>();
  for (const item of list) {
    const element = itemElement(node, item);
    const same = items.get(element);
    if (same) same.push(item);
    else items.set(element, [item]);
  }
  return items;
};

const compareItems = (old: readonly unknown[], now: readonly unknown[], node: SchemaNode): NodeDifference | undefined => {
  const pair = new Fields();
  const before = itemsByElement(old, node);
  const after = itemsByElement(now, node);
  const schema = childSchema(node);
  const add = (element: string, then: readonly unknown[], items: readonly unknown[]): void => {
    const difference = compareItem(then, items, schema);
    if (difference) pair.add(element, difference);
  };
  for (const [element, items] of after) add(element, before.get(element) ?? [], items);
  for (const [element, items] of before) if (!after.has(element)) add(element, items, []);
  return pair.difference;
};

/** Compares the items of one path element. Several items under one element are owned as one leaf. */
const compareItem = (old: readonly unknown[], now: readonly unknown[], node: SchemaNode): NodeDifference | undefined => {
  if (old.length <= 1 && now.length <= 1) return compareNodes(old[0], now[0], node);
  if (old.length >= 2 && now.length >= 2) return sameJson(old, now) ? undefined : {changed: leaf};
  if (old.length >= 2) return {removed: leaf, ...(now.length > 0 ? {changed: wholeNode(now[0], node)} : {})};
  return {changed: leaf, ...(old.length > 0 ? {removed: wholeNode(old[0], node)} : {})};
};

/** Returns every field at and below a value that was added or removed as a whole. */
const wholeNode = (value: unknown, node: SchemaNode): FieldSet => {
  const shape: MergeType = mergeTypeOf(node, value);
  if (shape === 'map') return wholeFields(value, node);
  if (shape === 'list' && isFilledList(value)) return wholeItems(value as readonly unknown[], node);
  return leaf;
};

const wholeFields = (value: unknown, node: SchemaNode): FieldSet => {
  const fields = structFields(node);
  const schema = childSchema(node);
  let result: MutableFieldSet | undefined;
  for (const key in value as PlainObject) {
    const child = (value as PlainObject)[key];
    if (child === undefined) continue;
    const field = fields?.get(key);
    (result ??= {'.': leaf})[field?.element ?? `f:${key}`] = wholeNode(child, field?.node ?? schema);
  }
  return result ?? leaf;
};

const wholeItems = (list: readonly unknown[], node: SchemaNode): FieldSet => {
  const result: MutableFieldSet = {};
  const schema = childSchema(node);
  for (const item of list) {
    const element = itemElement(node, item);
    result[element] = element in result ? leaf : wholeNode(item, schema);
  }
  return nodeOf(true, result)!;
};
