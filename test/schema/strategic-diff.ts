import {sameJson} from '#src/api/equal.js';
import {setProperty} from '#src/base/json/set-property.js';
import {copied, isPlainObject, ownField, type PlainObject} from '#src/schema/decode/plain.js';
import type {SchemaNode} from '#src/schema/node.js';
import {
  deleteFromPrimitiveList,
  patchDirective,
  patchMeta,
  retainKeysDirective,
  setElementOrder,
  type PatchMeta,
} from '#src/schema/patch/directives.js';

const isEmpty = (object: PlainObject): boolean => Object.keys(object).length === 0;

const byKey = (list: readonly unknown[], mergeKey: string): Map<unknown, PlainObject> =>
  new Map(list.filter(isPlainObject).map(item => [ownField(item, mergeKey), item]));

const objectsDiff = (patch: PlainObject, key: string, from: readonly unknown[], to: readonly unknown[], meta: PatchMeta): void => {
  const [before, after] = [byKey(from, meta.mergeKey), byKey(to, meta.mergeKey)];
  const changes: PlainObject[] = [];
  for (const [id, item] of after) {
    const old = before.get(id);
    const change = old ? diff(old, item, meta.node, meta.retainKeys) : (copied(item) as PlainObject);
    if (isEmpty(change)) continue;
    setProperty(change, meta.mergeKey, id);
    changes.push(change);
  }
  for (const id of before.keys()) if (!after.has(id)) changes.push({[patchDirective]: 'delete', [meta.mergeKey]: id});
  const reordered = !sameJson([...before.keys()], [...after.keys()]);
  if (changes.length > 0) setProperty(patch, key, changes);
  if (changes.length > 0 || reordered)
    setProperty(
      patch,
      `${setElementOrder}/${key}`,
      [...after.keys()].map(id => ({[meta.mergeKey]: id})),
    );
};

const scalarsDiff = (patch: PlainObject, key: string, from: readonly unknown[], to: readonly unknown[]): void => {
  const [before, after] = [new Set(from), new Set(to)];
  const added = to.filter(item => !before.has(item));
  const removed = from.filter(item => !after.has(item));
  if (added.length > 0) setProperty(patch, key, added);
  if (removed.length > 0) setProperty(patch, `${deleteFromPrimitiveList}/${key}`, [...new Set(removed)]);
  if (!sameJson(from, to)) setProperty(patch, `${setElementOrder}/${key}`, copied(to));
};

const listsDiff = (patch: PlainObject, key: string, from: readonly unknown[], to: readonly unknown[], meta: PatchMeta): void => {
  if (sameJson(from, to)) return;
  if (meta.strategy !== 'merge' || from.length === 0) setProperty(patch, key, copied(to));
  else if ([...from, ...to].every(isPlainObject)) objectsDiff(patch, key, from, to, meta);
  else scalarsDiff(patch, key, from, to);
};

const diff = (from: PlainObject, to: PlainObject, node: SchemaNode | undefined, retainKeys: boolean): PlainObject => {
  const patch: PlainObject = {};
  for (const key of Object.keys(to)) {
    const [old, value] = [ownField(from, key), to[key]];
    const meta = patchMeta(node, key);
    if (isPlainObject(old) && isPlainObject(value) && meta.strategy !== 'replace') {
      const inner = diff(old, value, meta.node, meta.retainKeys);
      if (!isEmpty(inner)) setProperty(patch, key, inner);
    } else if (Array.isArray(old) && Array.isArray(value)) {
      listsDiff(patch, key, old, value, meta);
    } else if (!sameJson(old, value)) {
      setProperty(patch, key, copied(value));
    }
  }
  for (const key of Object.keys(from)) if (!Object.hasOwn(to, key)) setProperty(patch, key, null);
  const retained = Object.keys(to).filter(key => to[key] !== null);
  if (retainKeys && retained.length > 0 && !isEmpty(patch)) setProperty(patch, retainKeysDirective, retained.sort());
  return patch;
};

/** Returns a strategic merge patch that turns `from` into `to`; empty if they are equal. */
export const createStrategicPatch = (from: PlainObject, to: PlainObject, node: SchemaNode): PlainObject => diff(from, to, node, false);
