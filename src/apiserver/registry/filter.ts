import {badRequest} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {own} from '#src/base/own.js';
import type {ResourceDefinition} from '#src/resources/definition.js';
import type {RecordFilter, StoredRecord} from '#src/storage/store.js';
import type {ListOptions} from './options.js';
import type {Resource, ServedResource} from './registry.js';
import type {RecordAttributes, Labels} from './selection-cache.js';

type Getter = (object: Readonly<KubeObject>) => string;

/** Lets everything pass. */
export const passAll: Filter = {all: true, name: undefined, namespace: undefined, looksAtFields: false, matches: () => true, decide: () => true};

/** Fields that every kind can be selected by. */
const metadataFields: Readonly<Record<string, Getter>> = {
  'metadata.name': object => object.metadata?.name ?? '',
  'metadata.namespace': object => object.metadata?.namespace ?? '',
};

/** Judges objects by a request's selectors, on the hub. `all` when everything passes. */
export interface Filter {
  readonly all: boolean;
  /** The one name, or the one namespace, the selection is narrowed to. */
  readonly name: string | undefined;
  readonly namespace: string | undefined;
  matches(object: Readonly<KubeObject>): boolean;
  /** Whether it looks at fields other than those every kind has. */
  readonly looksAtFields: boolean;
  /** The same by what is known beside an object; undefined where that is not enough. Without facts only the key is looked at. */
  decide(key: string, attributes: RecordAttributes | undefined): boolean | undefined;
}

/** Those of them that the key tells too. */
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

/** How a field that a kind cannot be selected by is refused: each of the original's kinds has words for it. */
const unknownField: Readonly<Record<NonNullable<ResourceDefinition['unknownFieldMessage']>, (field: string, kind: string) => string>> = {
  metadata: field => `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`,
  label: field => `field label not supported: ${field}`,
  kind: (field, kind) => `field label not supported for ${kind}: ${field}`,
  quoted: (field, kind) => `field label ${JSON.stringify(field)} not supported for ${kind.split('=')[1]}`,
};

/** The filter of a request. Throws 400 for fields the kind cannot be selected by. */
export const filterOf = ({resource, kind, version}: ServedResource, {labels, fields}: Pick<ListOptions, 'labels' | 'fields'>): Filter => {
  const selectable: Readonly<Record<string, Getter>> = version?.selectableFields ?? resource.definition.selectableFields ?? {};
  const {definition, settings: {naming}} = resource;
  const words = definition.unknownFieldMessage ?? (definition.custom || Object.keys(selectable).length > 0 ? 'label' : 'metadata');
  const terms = fields.requirements.map(({field, operator, value}): Term => {
    // What objects without a namespace have none of selects none of them, where the kind has no fields of its own to be selected by.
    const isKnown = field !== 'metadata.namespace' || kind.namespaced || words === 'metadata';
    const getter = own(isKnown ? metadataFields : undefined, field) ?? own(selectable, field);
    if (!getter) throw badRequest(unknownField[words](field, `${naming.apiVersion(kind.group, kind.version)}, Kind=${kind.kind}`));
    return {field, equal: operator === '=', value, getter};
  });
  const pinned = (field: string) => terms.find(term => term.field === field && term.equal)?.value;
  return {
    all: labels.empty && terms.length === 0,
    name: pinned('metadata.name'),
    namespace: pinned('metadata.namespace'),
    matches: object => (labels.empty || labels.matches(object.metadata?.labels)) && terms.every(({equal, value, getter}) => (getter(object) === value) === equal),
    looksAtFields: terms.some(({getter}) => !inKey.has(getter)),
    decide: decisionOf(resource, labels, terms),
  };
};

/** Judges by the key what it tells, then by the facts the rest. */
const decisionOf = (resource: Resource, labels: ListOptions['labels'], terms: readonly Term[]): Filter['decide'] => {
  const ofKey = terms.flatMap(({equal, value, getter}) => (inKey.has(getter) ? {equal, value, part: inKey.get(getter)!} : []));
  const ofFields = terms.flatMap(({equal, value, getter}) => (inKey.has(getter) ? [] : {equal, value, index: resource.getters.indexOf(getter)}));
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
    if (ofKey.length > 0 && !ofKey.every(({equal, value, part}) => (resource.placeOf(key)[part] === value) === equal)) return false;
    if (labels.empty && ofFields.length === 0) return true;
    if (!attributes) return undefined;
    if (!labels.empty && !hasLabels(attributes.labels)) return false;
    const {fields} = attributes;
    return ofFields.length === 0 || (fields && ofFields.every(({equal, value, index}) => (fields[index] === value) === equal));
  };
};

/** Whether a record passes a filter. It is parsed only for its fields, and when nothing else decides. */
const passes = ({attributes}: Resource, filter: Filter, record: StoredRecord): boolean =>
  filter.decide(record.key, undefined) ?? filter.decide(record.key, attributes.of(record)) ?? filter.decide(record.key, attributes.withFields(record))!;

/** What lets a filter's records through while a range is read; nothing where all pass. */
export const recordFilterOf = (resource: Resource, filter: Filter): RecordFilter | undefined => {
  if (filter.all) return undefined;
  const {attributes} = resource;
  attributes.used();
  return {
    known: (key, revision) => filter.decide(key, attributes.known(key, revision)),
    passes: record => passes(resource, filter, record),
  };
};
