import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import type {SchemaNode} from '#src/schema/node.js';
import {checkedVersions} from './checked-versions.js';
import {difference, intersection, isEmpty, union, unionOf, type FieldSet} from './field-set.js';
import {fieldsOf, withNamedFields} from './intent.js';
import type {ManagedFieldsEntry, Managers} from './managers.js';
import {structFields} from './merge-type.js';
import {removeFields} from './remove.js';
import type {Versions, Writer} from './tracking.js';

export interface Pruning {
  /** The object after merging the intent, in the writer's version. */
  readonly merged: PlainObject;
  readonly node: SchemaNode;
  /** The managers, including the applier with its new intent. */
  readonly managers: Managers;
  /** The applier's previous entry. */
  readonly last: ManagedFieldsEntry;
  /** Whether the object is checked in each version, as that of a custom resource. */
  readonly isChecked: boolean;
}

/** An object in one of its versions. */
interface VersionedObject {
  readonly object: PlainObject;
  readonly version: string;
  readonly node: SchemaNode;
}

const seen = (from: VersionedObject, to: string, versions: Versions): VersionedObject => {
  const node = versions.schemaOf(to)!;
  if (from.version === to) return {object: from.object, version: to, node};
  return {object: written(versions.convert(from.object, from.version, to), node) as PlainObject, version: to, node};
};

/** Returns a value with the fields that its type always writes: conversion cannot leave them out. */
const written = (value: unknown, node: SchemaNode): unknown => {
  if (Array.isArray(value)) return node.items ? value.map(item => written(item, node.items!)) : value;
  const fields = structFields(node);
  if (!isPlainObject(value) || !fields) return value;
  const result = {...value};
  for (const name of node.properties!.keys()) {
    const field = fields.get(name)!;
    const own = value[name] ?? field.zero;
    if (own !== undefined) result[name] = written(own, field.node);
  }
  return result;
};

const allFields = ({object, node}: VersionedObject): FieldSet => withNamedFields(fieldsOf(object, node), node);
const without = ({object, version, node}: VersionedObject, set: FieldSet): VersionedObject => ({
  object: removeFields(object, set, node),
  version,
  node,
});

/**
 * Removes the fields, keys and items of the manager's previous intent that are not in the new one, unless other
 * managers own them or something below them. Siblings that were set without being owned stay.
 */
export const prune = ({merged, node, managers, last, isChecked}: Pruning, {apiVersion, versions}: Writer): PlainObject => {
  if (isEmpty(last.fieldsV1)) return merged;
  const during = (step: string): Versions => (isChecked ? checkedVersions(versions, `failed to prune fields: ${step}`) : versions);
  const before = {object: merged, version: apiVersion, node};
  const whole = seen(before, last.apiVersion, during('failed to convert merged object to last applied version: '));
  const pruned = without(whole, withNamedFields(last.fieldsV1, whole.node));
  const owned = restoreOwned(whole, pruned, managers, {
    first: last.apiVersion,
    versionsFor: version => during(`failed add back owned items: failed to convert merged object at version ${version}: `),
  });
  const left = restoreUnowned(whole, seen(owned, last.apiVersion, versions), last.fieldsV1);
  return versions.convert(left.object, left.version, apiVersion);
};

/** Restores fields that a manager owns: first in the version that was pruned, then in all others. */
const restoreOwned = (
  whole: VersionedObject,
  pruned: VersionedObject,
  managers: Managers,
  {first, versionsFor}: {readonly first: string; versionsFor(version: string): Versions},
): VersionedObject => {
  const byVersion = new Map<string, FieldSet[]>([[first, []]]);
  for (const {apiVersion, fieldsV1} of managers.values()) {
    const sets = byVersion.get(apiVersion);
    if (sets) sets.push(fieldsV1);
    else byVersion.set(apiVersion, [fieldsV1]);
  }
  let left = pruned;
  for (const [version, sets] of byVersion) {
    const versions = versionsFor(version);
    if (!versions.schemaOf(version)) continue;
    const all = seen(whole, version, versions);
    const now = seen(left, version, versions);
    const stay = union(allFields(now), withNamedFields(unionOf(sets), all.node));
    left = without(all, difference(allFields(all), stay));
  }
  return left;
};

/** Restores fields that the manager never owned. */
const restoreUnowned = (whole: VersionedObject, pruned: VersionedObject, last: FieldSet): VersionedObject =>
  without(whole, intersection(difference(allFields(whole), allFields(pruned)), withNamedFields(last, whole.node)));
