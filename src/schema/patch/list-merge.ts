import {isPlainObject, ownField, type PlainObject} from '#src/schema/decode/plain.js';
import {inapplicable, formatValue, unprocessable} from './errors.js';
import {withoutDirectives, dropped, patchDirective, setElementOrder, type PatchMeta} from './directives.js';

type MergeMaps = (original: PlainObject, patch: PlainObject) => PlainObject;

const kindOf = (value: unknown): string =>
  isPlainObject(value) ? 'map' : Array.isArray(value) ? 'list' : value === null ? 'nil' : typeof value;

/** Returns the type of all elements; they must have one type and not be lists. Undefined for empty lists. */
const elementKind = (...lists: readonly (readonly unknown[])[]): string | undefined => {
  let kind: string | undefined;
  let isMixed = false;
  for (const list of lists) {
    for (const item of list) {
      const own = kindOf(item);
      if (own === 'list') throw unprocessable('lists of lists are not supported');
      isMixed ||= kind !== undefined && own !== kind;
      kind ??= own;
    }
  }
  if (isMixed) throw inapplicable(`list element types are not identical: ${formatValue(lists)}`);
  return kind;
};

const withoutKey = (item: unknown, mergeKey: string): Error =>
  inapplicable(`map: ${formatValue(item)} does not contain declared merge key: ${mergeKey}`);

const keyOf = (item: unknown, mergeKey: string): unknown => {
  if (mergeKey === '') return item;
  if (!isPlainObject(item)) throw inapplicable(`expected a map[string]interface {}, but received a ${kindOf(item)}`);
  if (!Object.hasOwn(item, mergeKey)) throw withoutKey(item, mergeKey);
  return item[mergeKey];
};

/** The item that a patch adds to a list. A null key stays one: the items of a list are told apart by it. */
const newItem = (item: unknown, mergeKey: string): unknown => {
  const kept = withoutDirectives(item);
  if (mergeKey !== '' && isPlainObject(item) && isPlainObject(kept) && ownField(item, mergeKey) === null) kept[mergeKey] = null;
  return kept;
};

const newItems = (list: readonly unknown[], mergeKey: string): unknown[] =>
  list.map(item => newItem(item, mergeKey)).filter(item => item !== dropped);

const indexesByKey = (list: readonly unknown[], mergeKey: string): Map<unknown, number> => {
  const indexes = new Map<unknown, number>();
  for (let index = 0; index < list.length; index++) {
    const item = list[index];
    const key = mergeKey === '' ? item : isPlainObject(item) ? ownField(item, mergeKey) : undefined;
    if (!indexes.has(key)) indexes.set(key, index);
  }
  return indexes;
};

const sortedBy = (items: unknown[], order: Map<unknown, number>, mergeKey: string): unknown[] =>
  items.sort((a, b) => (order.get(keyOf(a, mergeKey)) ?? 0) - (order.get(keyOf(b, mergeKey)) ?? 0));

/**
 * Orders the items of the patch as requested and keeps the others relative to them: each before the first patched item
 * that it preceded in the live list.
 */
const ordered = (merged: readonly unknown[], desired: readonly unknown[], live: readonly unknown[], mergeKey: string): unknown[] => {
  const [wantedAt, liveAt] = [indexesByKey(desired, mergeKey), indexesByKey(live, mergeKey)];
  const [wanted, unnamed]: [unknown[], unknown[]] = [[], []];
  for (const item of merged) (wantedAt.has(keyOf(item, mergeKey)) ? wanted : unnamed).push(item);
  const named = sortedBy(wanted, wantedAt, mergeKey);
  const others = sortedBy(unnamed, liveAt, mergeKey);
  const result: unknown[] = [];
  let [other, next] = [0, 0];
  while (other < others.length && next < named.length) {
    const [otherAt, namedAt] = [liveAt.get(keyOf(others[other], mergeKey)), liveAt.get(keyOf(named[next], mergeKey))];
    if (otherAt !== undefined && namedAt !== undefined && otherAt < namedAt) result.push(others[other++]);
    else result.push(named[next++]);
  }
  return [...result, ...others.slice(other), ...named.slice(next)];
};

/** Applies `$patch` elements. Returns the remaining live list and the patch's other elements. */
const withSpecials = (
  live: readonly unknown[],
  patch: readonly PlainObject[],
  mergeKey: string,
): {live: unknown[]; patch: PlainObject[]} => {
  const gone = new Set<unknown>();
  let replaces = false;
  const plain: PlainObject[] = [];
  for (const item of patch) {
    if (!Object.hasOwn(item, patchDirective)) {
      plain.push(item);
      continue;
    }
    const directive = item[patchDirective];
    if (directive === 'replace') replaces = true;
    else if (directive === 'delete') gone.add(keyOf(item, mergeKey));
    else if (directive === 'merge') throw inapplicable('merging lists cannot yet be specified in the patch');
    else throw inapplicable(`unknown patch type: ${formatValue(directive)} in map: ${formatValue(item)}`);
  }
  if (replaces) return {live: newItems(plain, mergeKey), patch: []};
  return {live: live.filter(other => !isPlainObject(other) || !gone.has(ownField(other, mergeKey))), patch: plain};
};

const mergedMaps = (live: readonly unknown[], patch: readonly PlainObject[], mergeKey: string, merge: MergeMaps): unknown[] => {
  const result = [...live];
  const at = indexesByKey(result, mergeKey);
  for (const item of patch) {
    const key = keyOf(item, mergeKey);
    const index = at.get(key);
    if (index === undefined) {
      at.set(key, result.length);
      result.push(newItem(item, mergeKey));
    } else {
      result[index] = merge(result[index] as PlainObject, item);
    }
  }
  return result.filter(item => item !== dropped);
};

/** Merges a list, objects by their key and scalars as a set. Items of the patch come in its order. */
export const mergedList = (live: readonly unknown[], patch: readonly unknown[], {mergeKey}: PatchMeta, merge: MergeMaps): unknown[] => {
  const kind = elementKind(live, patch);
  if (kind !== 'map') return ordered([...new Set([...live, ...patch])], patch, live, mergeKey);
  if (mergeKey === '') throw inapplicable('cannot merge lists without merge key for struct');
  const plain = withSpecials(live, patch as PlainObject[], mergeKey);
  return ordered(mergedMaps(plain.live, plain.patch, mergeKey, merge), plain.patch, plain.live, mergeKey);
};

/** Returns a list of scalars without the removed ones. */
export const withoutElements = (live: readonly unknown[], removed: readonly unknown[]): unknown[] => {
  const gone = new Set(removed);
  return live.filter(item => !gone.has(item));
};

/** Throws unless every element of the patch is in the order list, in that order; deletions are exempt. */
const checkOrder = (patch: readonly unknown[], order: readonly unknown[], mergeKey: string): void => {
  if (order.length === 0 || patch.length === 0) return;
  const plain = patch.filter(item => !isPlainObject(item) || !Object.hasOwn(item, patchDirective));
  let at = 0;
  for (const item of order) if (at < plain.length && keyOf(plain[at], mergeKey) === keyOf(item, mergeKey)) at += 1;
  if (at < plain.length)
    throw inapplicable(`The order in patch list:\n${formatValue(patch)}\n doesn't match ${setElementOrder} list:\n${formatValue(order)}\n`);
};

/** Merges a list with an explicit order. Undefined if neither side has the list. */
export const mergedInOrder = (
  live: readonly unknown[] | undefined,
  patch: readonly unknown[] | undefined,
  order: readonly unknown[],
  meta: PatchMeta,
  merge: MergeMaps,
): unknown[] | undefined => {
  checkOrder(patch ?? [], order, meta.mergeKey);
  if (!live && !patch) return undefined;
  if (!live) return ordered(newItems(patch ?? [], meta.mergeKey), order, [], meta.mergeKey);
  elementKind(live, patch ?? []);
  if (patch && meta.strategy !== 'merge') return ordered(newItems(patch, meta.mergeKey), order, live, meta.mergeKey);
  return ordered(patch ? mergedList(live, patch, meta, merge) : live, order, live, meta.mergeKey);
};
