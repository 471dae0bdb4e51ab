import {setProperty} from '#src/base/json/set-property.js';
import {isPlainObject, ownField, type PlainObject} from '#src/schema/decode/plain.js';
import type {SchemaNode} from '#src/schema/node.js';
import {untypedNode, fieldNode, itemElement, mergeTypeOf} from './merge-type.js';

/**
 * Returns the object with an intent merged in: leaves are replaced, maps merged by key, associative lists and sets by
 * item in the intent's order. Nothing is removed. Changes neither; the result shares parts with both.
 */
export const mergeIntent = (live: PlainObject, intent: PlainObject, node: SchemaNode): PlainObject =>
  merged(live, intent, node) as PlainObject;

const isEmptyMap = (value: unknown): boolean => !isPlainObject(value) || Object.keys(value).length === 0;
const isEmptyList = (value: unknown): boolean => !Array.isArray(value) || value.length === 0;

/** Returns undefined when nothing is left. */
const merged = (old: unknown, wanted: unknown, node: SchemaNode): unknown => {
  if (wanted === undefined) return old;
  const shape = mergeTypeOf(node, old, wanted);
  if (shape === 'map' && !(isEmptyMap(old) && isEmptyMap(wanted)))
    return mergedFields(isPlainObject(old) ? old : {}, isPlainObject(wanted) ? wanted : {}, node);
  if (shape === 'list' && !(isEmptyList(old) && isEmptyList(wanted))) {
    return mergedItems(Array.isArray(old) ? (old as unknown[]) : [], Array.isArray(wanted) ? (wanted as unknown[]) : [], node);
  }
  return wanted;
};

const mergedFields = (old: PlainObject, wanted: PlainObject, node: SchemaNode): PlainObject | undefined => {
  const result: PlainObject = {};
  let isEmpty = true;
  const take = (key: string, mine: unknown, theirs: unknown): void => {
    const value = merged(mine, theirs, fieldNode(node, key) ?? untypedNode);
    if (value === undefined) return;
    setProperty(result, key, value);
    isEmpty = false;
  };
  for (const key of Object.keys(old)) take(key, old[key], ownField(wanted, key));
  for (const key of Object.keys(wanted)) if (!Object.hasOwn(old, key)) take(key, undefined, wanted[key]);
  return isEmpty ? undefined : result;
};

/** Returns the items by path element; undefined for an element that several items have. */
const index = (elements: readonly string[], list: readonly unknown[]): Map<string, unknown> => {
  const items = new Map<string, unknown>();
  for (const [at, element] of elements.entries()) items.set(element, items.has(element) ? null : list[at]);
  return items;
};

/**
 * Merges both lists in one walk. Items of the old list alone keep their position between the common items; the items of
 * the intent keep the intent's order.
 */
const mergedItems = (old: readonly unknown[], wanted: readonly unknown[], node: SchemaNode): unknown[] | undefined => {
  const schema = node.items ?? untypedNode;
  const left = old.map(item => itemElement(node, item));
  const right = wanted.map(item => itemElement(node, item));
  const oldItems = index(left, old);
  const wantedItems = index(right, wanted);
  const shared = right.filter(element => oldItems.has(element));
  const done = new Set<string>();
  const result: unknown[] = [];
  let next = 0;
  const take = (element: string): void => {
    done.add(element);
    const value = merged(oldItems.get(element) ?? undefined, wantedItems.get(element), schema);
    if (value !== undefined) result.push(value);
  };
  for (let l = 0, r = 0; l < left.length || r < right.length;) {
    const mine = left[l];
    const theirs = right[r];
    if (mine !== undefined && mine === theirs) {
      take(mine);
      l++;
      r++;
      next++;
      continue;
    }
    if (mine !== undefined && theirs !== undefined && wantedItems.has(mine) && next < shared.length && shared[next] !== mine) {
      l++;
      continue;
    }
    if (mine !== undefined && !wantedItems.has(mine)) {
      result.push(old[l]);
      l++;
      continue;
    }
    if (mine !== undefined && done.has(mine)) l++;
    if (theirs === undefined) continue;
    take(theirs);
    r++;
    if (shared[next] === theirs) next++;
  }
  return result.length > 0 ? result : undefined;
};
