// Judges the stored objects of a definition by its new version, as they would be read and updated then.

import {collectErrors} from '#src/api/collect-errors.js';
import {sameJson} from '#src/api/equal.js';
import {jsonText} from '#src/base/json/json.js';
import {fieldParts} from '#src/base/yaml/field-lines.js';
import type {KubeObject} from '#src/api/types.js';
import type {HookContext} from '#src/resources/definition.js';
import type {CustomVersion} from '#src/resources/custom/family.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import type {FoldedFindings} from './folded.js';
import type {DefaultChange} from './schema-changes.js';

/** By what an object is judged. */
export interface Judgement {
  readonly version: CustomVersion;
  readonly context: HookContext;
  readonly folded: FoldedFindings;
  /** The defaults of the version that are other ones now. */
  readonly defaults: readonly DefaultChange[];
}

const nameOf = ({metadata}: KubeObject): string => `${metadata?.namespace ? `${metadata.namespace}/` : ''}${metadata?.name ?? ''}`;

/**
 * Notes what a new definition does to one stored object: the fields that it drops, the defaults that it sets, and
 * whether it accepts the object, or only its unchanged parts.
 */
export const judge = async (stored: KubeObject, {version, context, folded, defaults}: Judgement): Promise<void> => {
  const name = nameOf(stored);
  const object = structuredClone({...stored, apiVersion: version.apiVersion}) as PlainObject;
  for (const path of version.schema.coerce(object, 'drop')) folded.add('stored-pruned', path, '', name);
  for (const {path, before, now} of defaults)
    if (sameJson(valueAt(object, path), before))
      folded.add('definition-default', path, `is ${jsonText(now)} instead of ${jsonText(before)} by default`, name);
  const undefaulted = structuredClone(object);
  version.schema.applyDefaults(object);
  for (const {path, value} of added(undefaulted, object, '')) folded.add('stored-defaulted', path, jsonText(value), name);
  const {definition} = version;
  const typed = object as KubeObject;
  await definition.ready?.(typed);
  const errors = collectErrors(definition.main.validate?.(typed, undefined, context) ?? []);
  if (errors.length === 0) return;
  const left = collectErrors(definition.main.validate?.(typed, structuredClone(typed), context) ?? []);
  const remaining = new Set(left.map(({path, detail}) => `${path} ${detail}`));
  for (const {path, detail} of errors) {
    if (path === '<nil>') continue; // Says that rules were not evaluated because of the other errors.
    const isLeft = remaining.has(`${path} ${detail}`);
    folded.add(isLeft ? 'stored-invalid' : 'stored-ratcheted', path, detail, name);
  }
};

/** What one value has and the other lacks. */
const added = function* (before: unknown, now: unknown, path: string): Generator<{readonly path: string; readonly value: unknown}, void> {
  if (Array.isArray(now) && Array.isArray(before)) {
    for (const [index, item] of now.entries()) yield* added(before[index], item, `${path}[${index}]`);
  } else if (isPlainObject(now) && isPlainObject(before)) {
    for (const [name, value] of Object.entries(now)) {
      const inner = path ? `${path}.${name}` : name;
      if (!Object.hasOwn(before, name)) yield {path: inner, value};
      else yield* added(before[name], value, inner);
    }
  } else if (!sameJson(before, now)) yield {path, value: now};
};

/** The value of a field outside of lists. */
const valueAt = (object: PlainObject, path: string): unknown => {
  let value: unknown = object;
  for (const part of fieldParts(path)) value = isPlainObject(value) && Object.hasOwn(value, part) ? value[part] : undefined;
  return value;
};
