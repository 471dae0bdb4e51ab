// Validation of `metadata`, for objects and for the templates in them. It never changes an object.

import {forbiddenField, invalid, required, tooLong, tooMany, type FieldError} from '#src/api/field-error.js';
import {collectErrors} from '#src/api/collect-errors.js';
import {exceedsBytes, labelKeyProblems, labelValueProblems} from '#src/api/names.js';
import type {Naming} from '#src/api/naming.js';
import type {ObjectMeta, OwnerReference} from '#src/api/types.js';
import {givenEmpty} from '#src/schema/emptied.js';
import type {MetadataValidation} from '#src/resources/definition.js';
import {immutable} from './equality.js';
import {labelName, pathSegmentName, type NameProblems} from './names.js';

// Validation of metadata, on creation and on updates. Expects the fields that the server sets; whether a
// resourceVersion is required is not checked here.

/** The size limit of all annotations of an object, keys and values. */
export const annotationsLimit = 256 * 1024;

/**
 * The most labels of an object, a template or a selector. Every controller looks at all labels of an object when it
 * changes, and listing keys takes V8 one turn. Differs from upstream, which has no limit.
 */
export const mostLabels = 4096;

const orphan = 'orphan';
const foreground = 'foregroundDeletion';

export function* validateLabels(labels: Readonly<Record<string, string>> | undefined, path: string): Iterable<FieldError> {
  const entries = Object.entries(labels ?? {});
  for (const [key, value] of entries) {
    for (const problem of labelKeyProblems(key)) yield invalid(path, key, problem);
    for (const problem of labelValueProblems(value)) yield invalid(path, value, problem);
  }
  if (entries.length > mostLabels) yield tooMany(path, entries.length, mostLabels);
}

export function* validateAnnotations(annotations: Readonly<Record<string, string>> | undefined, path: string): Iterable<FieldError> {
  let size = 0;
  for (const [key, value] of Object.entries(annotations ?? {})) {
    for (const problem of labelKeyProblems(key.toLowerCase())) yield invalid(path, key, problem);
    size += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (size > annotationsLimit) yield tooLong(path, annotationsLimit);
}

function* validateOwner(owner: Readonly<OwnerReference>, path: string): Iterable<FieldError> {
  const parts = (owner.apiVersion ?? '').split('/');
  if (parts.length > 2 || !parts.at(-1)) yield invalid(`${path}.apiVersion`, owner.apiVersion ?? '', 'version must not be empty');
  if (!owner.kind) yield invalid(`${path}.kind`, owner.kind ?? '', 'must not be empty');
  if (!owner.name) yield invalid(`${path}.name`, owner.name ?? '', 'must not be empty');
  if (!owner.uid) yield invalid(`${path}.uid`, owner.uid ?? '', 'must not be empty');
  if (owner.apiVersion === 'v1' && owner.kind === 'Event') yield invalid(path, owner, '/v1, Kind=Event is disallowed from being an owner');
}

function* validateOwners(owners: readonly OwnerReference[] | undefined, path: string): Iterable<FieldError> {
  let controller: string | undefined;
  for (const owner of owners ?? []) {
    yield* validateOwner(owner, path);
    if (owner.controller !== true) continue;
    const found = `${owner.kind}/${owner.name}`;
    if (controller === undefined) controller = found;
    else
      yield invalid(
        path,
        owners,
        `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${found}`,
      );
  }
}

function* validateFinalizers(finalizers: readonly string[] | undefined, path: string): Iterable<FieldError> {
  for (const finalizer of finalizers ?? []) {
    for (const problem of labelKeyProblems(finalizer)) yield invalid(path, finalizer, problem);
  }
  if (finalizers?.includes(orphan) && finalizers.includes(foreground)) {
    yield invalid(path, finalizers, `finalizer ${orphan} and ${foreground} cannot be both set`);
  }
}

/** Validates that a finalizer of a built-in kind has a domain, or is one of the three built-in ones. */
export function* validateFinalizerOrigin(finalizer: string, naming: Naming, path: string): Iterable<FieldError> {
  if (finalizer.includes('/') || finalizer === orphan || finalizer === foreground || finalizer === naming.namespaceFinalizer) return;
  yield invalid(path, finalizer, 'name is neither a standard finalizer name nor is it fully qualified');
}

function* validateFinalizerOrigins(finalizers: readonly string[] | undefined, naming: Naming, path: string): Iterable<FieldError> {
  for (const [i, finalizer] of (finalizers ?? []).entries()) yield* validateFinalizerOrigin(finalizer, naming, `${path}[${i}]`);
}

function* validateManagedFields(meta: Readonly<ObjectMeta>, path: string): Iterable<FieldError> {
  if (!meta.managedFields) return;
  for (const [i, {operation, fieldsType, manager, subresource}] of meta.managedFields.entries()) {
    if (operation !== 'Apply' && operation !== 'Update')
      yield invalid(`${path}[${i}].operation`, operation ?? '', 'must be `Apply` or `Update`');
    if (fieldsType && fieldsType !== 'FieldsV1') yield invalid(`${path}[${i}].fieldsType`, fieldsType, 'must be `FieldsV1`');
    if (manager && exceedsBytes(manager, 128)) yield tooLong(`${path}[${i}].manager`, 128);
    if (subresource && exceedsBytes(subresource, 256)) yield tooLong(`${path}[${i}].subresource`, 256);
  }
}

/** Validates the name and namespace. A generated name must already be set. */
export function* validateNames(meta: Readonly<ObjectMeta>, nameProblems: NameProblems, path = 'metadata'): Iterable<FieldError> {
  if (meta.generateName) {
    for (const problem of nameProblems(meta.generateName, true)) yield invalid(`${path}.generateName`, meta.generateName, problem);
  }
  if (!meta.name) yield required(`${path}.name`, 'name or generateName is required');
  else for (const problem of nameProblems(meta.name, false)) yield invalid(`${path}.name`, meta.name, problem);
}

export interface ObjectMetaRules {
  readonly namespaced: boolean;
  readonly nameProblems: NameProblems;
  /** Set for built-in kinds, whose finalizers must be known or have a domain. */
  readonly naming?: Naming;
}

/** Validates metadata except for the names. */
function* validateExceptNames(meta: Readonly<ObjectMeta>, namespaced: boolean, path: string): Iterable<FieldError> {
  if (!namespaced) {
    if (meta.namespace) yield forbiddenField(`${path}.namespace`, 'not allowed on this type');
  } else if (!meta.namespace) yield required(`${path}.namespace`);
  else for (const problem of labelName(meta.namespace, false)) yield invalid(`${path}.namespace`, meta.namespace, problem);
  if ((meta.generation ?? 0) < 0) yield invalid(`${path}.generation`, meta.generation, 'must be greater than or equal to 0');
  if (meta.labels) yield* validateLabels(meta.labels, `${path}.labels`);
  if (meta.annotations) yield* validateAnnotations(meta.annotations, `${path}.annotations`);
  if (meta.ownerReferences) yield* validateOwners(meta.ownerReferences, `${path}.ownerReferences`);
  if (meta.finalizers) yield* validateFinalizers(meta.finalizers, `${path}.finalizers`);
  yield* validateManagedFields(meta, `${path}.managedFields`);
}

/** Validates the metadata of a template, of which objects take the labels and annotations only. */
export function* validateTemplateMeta(meta: Readonly<ObjectMeta> | undefined, path: string): Iterable<FieldError> {
  const {annotations, labels, ...rest} = meta ?? {};
  yield* validateAnnotations(annotations, `${path}.annotations`);
  yield* validateLabels(labels, `${path}.labels`);
  for (const [field, value] of Object.entries(rest)) {
    if (value) yield forbiddenField(`${path}.${field === 'uid' ? 'uID' : field}`, 'cannot be set');
  }
  for (const field of ['ownerReferences', 'finalizers', 'managedFields']) {
    if (!(field in rest) && givenEmpty(meta, field)) yield forbiddenField(`${path}.${field}`, 'cannot be set');
  }
}

/** Validates the metadata of a new object. */
export function* validateObjectMeta(meta: Readonly<ObjectMeta>, rules: ObjectMetaRules, path = 'metadata'): Iterable<FieldError> {
  yield* validateNames(meta, rules.nameProblems, path);
  yield* validateExceptNames(meta, rules.namespaced, path);
  if (rules.naming && meta.finalizers) yield* validateFinalizerOrigins(meta.finalizers, rules.naming, `${path}.finalizers`);
}

const goStrings = (texts: readonly string[]): string => `[]string{${texts.map(text => JSON.stringify(text)).join(', ')}}`;

const keptMetadata = ['name', 'namespace', 'uid', 'creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds'] as const;

/** Validates an update of metadata. Whether a resourceVersion is required is checked elsewhere. */
function* validateChange(meta: Readonly<ObjectMeta>, old: Readonly<ObjectMeta>, path: string): Iterable<FieldError> {
  if (old.deletionTimestamp) {
    const kept = new Set(old.finalizers);
    const added = [...new Set(meta.finalizers ?? [])].filter(finalizer => !kept.has(finalizer)).sort();
    if (added.length > 0) {
      yield forbiddenField(
        `${path}.finalizers`,
        `no new finalizers can be added if the object is being deleted, found new finalizers ${goStrings(added)}`,
      );
    }
  }
  if ((meta.generation ?? 0) < (old.generation ?? 0)) yield invalid(`${path}.generation`, meta.generation ?? 0, 'must not be decremented');
  for (const field of keptMetadata) if (meta[field] !== old[field]) yield* immutable(`${path}.${field}`, meta[field], old[field]);
  if (meta.labels) yield* validateLabels(meta.labels, `${path}.labels`);
  if (meta.annotations) yield* validateAnnotations(meta.annotations, `${path}.annotations`);
  if (meta.ownerReferences) yield* validateOwners(meta.ownerReferences, `${path}.ownerReferences`);
  yield* validateManagedFields(meta, `${path}.managedFields`);
}

/** How often the metadata of an updated object is validated as a whole. */
const timesWhole: Readonly<Record<MetadataValidation, number>> = {common: 0, change: 0, whole: 1, twice: 2, both: 1};

/**
 * Validates an update of metadata: first the common rules, then those of the kind. Errors are repeated as often as the
 * original finds them.
 */
export function* validateObjectMetaUpdate(
  meta: Readonly<ObjectMeta>,
  old: Readonly<ObjectMeta>,
  validation: MetadataValidation,
  rules: ObjectMetaRules,
): Iterable<FieldError> {
  const path = 'metadata';
  const beside = collectErrors(validateExceptNames(meta, rules.namespaced, path));
  const change = collectErrors(validateChange(meta, old, path));
  const origins =
    rules.naming && meta.finalizers ? collectErrors(validateFinalizerOrigins(meta.finalizers, rules.naming, `${path}.finalizers`)) : [];
  yield* validateNames(meta, pathSegmentName);
  yield* beside;
  yield* change;
  for (let times = timesWhole[validation]; times > 0; times--) {
    yield* validateNames(meta, rules.nameProblems);
    yield* beside;
    yield* origins;
  }
  if (validation === 'change' || validation === 'both') {
    yield* change;
    yield* origins;
  }
}
