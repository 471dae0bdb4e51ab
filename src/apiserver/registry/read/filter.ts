// Label and field selectors of lists and watches. A record is decided by its key first, then by cached labels, then by
// cached fields; it is parsed only for fields that are not cached yet.

import {badRequest} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {ownValue} from '#src/base/own.js';
import type {SelectionRules} from '#src/resources/definition.js';
import {compareKeys} from '#src/storage/local/keys.js';
import {endOfPrefix, type RecordFilter, type StoredRecord} from '#src/storage/store.js';
import type {ListOptions} from '#src/apiserver/registry/options.js';
import type {Resource, ServedResource} from '#src/apiserver/registry/resource.js';
import type {RecordAttributes, Labels} from '#src/apiserver/registry/selection-cache.js';

type Getter = (object: Readonly<KubeObject>) => string;

/** Matches every object. */
export const passAll: Filter = {
  all: true,
  name: undefined,
  namespace: undefined,
  looksAtFields: false,
  id: undefined,
  matches: () => true,
  decide: () => true,
};

/** Fields that every kind can be selected by. */
const metadataFields: Readonly<Record<string, Getter>> = {
  'metadata.name': object => object.metadata?.name ?? '',
  'metadata.namespace': object => object.metadata?.namespace ?? '',
};

/** A request's selectors, evaluated on the hub version. `all` is true when every object matches. */
export interface Filter {
  readonly all: boolean;
  /** The name and the namespace that the selectors require, if any. */
  readonly name: string | undefined;
  readonly namespace: string | undefined;
  /** Filters of equal ids match the same objects; undefined for one of all objects, and for long selectors. */
  readonly id: string | undefined;
  matches(object: Readonly<KubeObject>): boolean;
  /** Whether it evaluates fields other than those every kind has. */
  readonly looksAtFields: boolean;
  /**
   * Decides by the key and cached attributes; undefined when they do not suffice. Without attributes, by the key alone.
   */
  decide(key: string, attributes: RecordAttributes | undefined): boolean | undefined;
}

/** The metadata fields whose values are part of the key. */
const inKey: ReadonlyMap<Getter, 'name' | 'namespace'> = new Map([
  [metadataFields['metadata.name']!, 'name'],
  [metadataFields['metadata.namespace']!, 'namespace'],
]);

/** One requirement of a field selector. */
interface Term {
  readonly field: string;
  readonly equal: boolean;
  readonly value: string;
  readonly getter: Getter;
}

/** The messages for unsupported fields of a selector: the original has several, by kind. */
const unknownField: Readonly<
  Record<NonNullable<SelectionRules<KubeObject>['unknownFieldMessage']>, (field: string, kind: string) => string>
> = {
  metadata: field => `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`,
  label: field => `field label not supported: ${field}`,
  kind: (field, kind) => `field label not supported for ${kind}: ${field}`,
  quoted: (field, kind) => `field label ${JSON.stringify(field)} not supported for ${kind.split('=')[1]}`,
};

/** Longer selectors have no id: they are not remembered. */
const maxIdLength = 1024;

/** Kinds by number: one that is defined anew may have other selectable fields. */
const serials = new WeakMap<ServedResource, number>();
let lastSerial = 0;

const idOf = (served: ServedResource, text: string): string | undefined => {
  if (text.length > maxIdLength) return undefined;
  let serial = serials.get(served);
  if (serial === undefined) serials.set(served, (serial = ++lastSerial));
  return `${serial} ${text}`;
};

/** Returns the filter of a request. Throws 400 for fields that the kind does not support in selectors. */
export const filterOf = (served: ServedResource, {labels, fields}: Pick<ListOptions, 'labels' | 'fields'>): Filter => {
  const {resource, kind, version} = served;
  const selectable: Readonly<Record<string, Getter>> = version?.selectableFields ?? resource.definition.selection?.fields ?? {};
  const {
    definition,
    settings: {naming},
  } = resource;
  const messageForm =
    definition.selection?.unknownFieldMessage ?? (definition.custom || Object.keys(selectable).length > 0 ? 'label' : 'metadata');
  const terms = fields.requirements.map(({field, operator, value}): Term => {
    // A cluster-scoped kind accepts metadata.namespace only if it has no selectable fields of its own.
    const isKnown = field !== 'metadata.namespace' || kind.namespaced || messageForm === 'metadata';
    const getter = ownValue(isKnown ? metadataFields : undefined, field) ?? ownValue(selectable, field);
    if (!getter) throw badRequest(unknownField[messageForm](field, `${naming.apiVersion(kind.group, kind.version)}, Kind=${kind.kind}`));
    return {field, equal: operator === '=', value, getter};
  });
  const pinned = (field: string) => terms.find(term => term.field === field && term.equal)?.value;
  const all = labels.empty && terms.length === 0;
  return {
    all,
    id: all ? undefined : idOf(served, `${labels.toString()} ${fields.toString()}`),
    name: pinned('metadata.name'),
    namespace: pinned('metadata.namespace'),
    matches: object =>
      (labels.empty || labels.matches(object.metadata?.labels)) &&
      terms.every(({equal, value, getter}) => (getter(object) === value) === equal),
    looksAtFields: terms.some(({getter}) => !inKey.has(getter)),
    decide: decisionOf(resource, labels, terms),
  };
};

/** Returns a function that evaluates the terms of the key first, then labels and fields from the cached attributes. */
const decisionOf = (resource: Resource, labels: ListOptions['labels'], terms: readonly Term[]): Filter['decide'] => {
  const ofKey = terms.flatMap(({equal, value, getter}) => (inKey.has(getter) ? {equal, value, part: inKey.get(getter)!} : []));
  const ofFields = terms.flatMap(({equal, value, getter}) =>
    inKey.has(getter) ? [] : {equal, value, index: resource.getters.indexOf(getter)},
  );
  const matchesByLabels = new WeakMap<Labels, boolean>();
  let ofNone: boolean | undefined;
  const hasLabels = (found: Labels | undefined): boolean => {
    if (!found) return (ofNone ??= labels.matches(found));
    let matches = matchesByLabels.get(found);
    if (matches !== undefined) return matches;
    matches = labels.matches(found);
    matchesByLabels.set(found, matches);
    return matches;
  };
  return (key, attributes) => {
    if (ofKey.length > 0 && !ofKey.every(({equal, value, part}) => (resource.parseKey(key)[part] === value) === equal)) return false;
    if (labels.empty && ofFields.length === 0) return true;
    if (!attributes) return undefined;
    if (!labels.empty && !hasLabels(attributes.labels)) return false;
    const {fields} = attributes;
    return ofFields.length === 0 || (fields && ofFields.every(({equal, value, index}) => (fields[index] === value) === equal));
  };
};

/** Whether a record matches a filter. It is parsed only when its key and labels do not decide. */
const passes = ({attributes}: Resource, filter: Filter, record: StoredRecord): boolean =>
  filter.decide(record.key, undefined) ??
  filter.decide(record.key, attributes.of(record)) ??
  filter.decide(record.key, attributes.withFields(record))!;

/** Returns the filter for range reads of the store; undefined when all records match. */
export const recordFilterOf = (resource: Resource, filter: Filter): RecordFilter | undefined => {
  if (filter.all) return undefined;
  const {attributes} = resource;
  attributes.touch();
  return {
    id: filter.id,
    parses: filter.looksAtFields,
    known: (key, revision) => filter.decide(key, attributes.known(key, revision)),
    passes: record => passes(resource, filter, record),
    ...(filter.name && resource.kind.namespaced ? {next: nextOfName(resource, filter.name)} : {}),
  };
};

/** Returns what finds the next key of an object of a name: in the same namespace, or in those behind it. */
const nextOfName =
  (resource: Resource, required: string) =>
  (key: string): string | undefined => {
    const {namespace, name} = resource.parseKey(key);
    if (name === required) return undefined;
    return compareKeys(name, required) < 0 ? resource.key(namespace, required) : endOfPrefix(resource.prefixOf(namespace));
  };
