// The tags of a kind: its names, and what its definition says of a version besides the schema.

import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import {jsonArgument, tag, type Tag} from './doc.js';

export type Definition = ObjectOf<typeof kinds.customResourceDefinitions>;
export type Spec = Definition['spec'];
export type Version = Spec['versions'][number];
type Column = NonNullable<Version['additionalPrinterColumns']>[number];
type Conversion = NonNullable<Spec['conversion']>;
type Scale = NonNullable<NonNullable<Version['subresources']>['scale']>;

/** The names of a kind that its definition has if it does not say others. */
export const defaultNames = (kind: string): {readonly plural: string; readonly singular: string; readonly listKind: string} => {
  const singular = kind.toLowerCase();
  const plural = /(s|x|z|ch|sh)$/.test(singular)
    ? `${singular}es`
    : /[^aeiou]y$/.test(singular)
      ? `${singular.slice(0, -1)}ies`
      : `${singular}s`;
  return {plural, singular, listKind: `${kind}List`};
};

/** A word of a tag's text: as it is, or as a JSON string. */
const word = (text: string): string => (/^[^\s"=][^\s]*$/.test(text) && !text.includes('*/') ? text : jsonArgument(text));

const columnText = ({name, type, jsonPath, priority, format, description}: Column): string =>
  [
    word(name),
    word(type),
    word(jsonPath),
    ...(priority ? [`priority=${priority}`] : []),
    ...(format ? [`format=${word(format)}`] : []),
    ...(description ? [`description=${jsonArgument(description)}`] : []),
  ].join(' ');

const scaleText = ({specReplicasPath, statusReplicasPath, labelSelectorPath}: Scale): string =>
  [
    'scale',
    `spec=${word(specReplicasPath)}`,
    `status=${word(statusReplicasPath)}`,
    ...(labelSelectorPath ? [`selector=${word(labelSelectorPath)}`] : []),
  ].join(' ');

/** Returns the tags of a version's kind. Those of the definition itself go with the version that is stored. */
export const kindTagsOf = ({metadata, spec}: Definition, version: Version): Tag[] => {
  const {names} = spec;
  const defaults = defaultNames(names.kind);
  const {annotations = {}, labels = {}} = metadata ?? {};
  const ofDefinition = [
    ...(names.singular && names.singular !== defaults.singular ? [tag('singular', names.singular)] : []),
    ...(names.listKind && names.listKind !== defaults.listKind ? [tag('listKind', names.listKind)] : []),
    ...(names.shortNames ?? []).map(name => tag('shortName', name)),
    ...(names.categories ?? []).map(name => tag('category', name)),
    ...Object.entries(labels).map(([name, value]) => tag('label', `${name} ${word(value)}`)),
    ...Object.entries(annotations).map(([name, value]) => tag('annotation', `${name} ${word(value)}`)),
    ...(spec.conversion?.webhook ? [tag('conversion', jsonArgument(spec.conversion))] : []),
    ...(spec.versions.length > 1 ? [tag('storage')] : []),
  ];
  return [
    ...(version.storage ? ofDefinition : []),
    ...(version.served ? [] : [tag('unserved')]),
    ...(version.deprecated ? [tag('deprecated', version.deprecationWarning ?? '')] : []),
    ...(version.subresources?.status ? [tag('subresource', 'status')] : []),
    ...(version.subresources?.scale ? [tag('subresource', scaleText(version.subresources.scale))] : []),
    ...(version.selectableFields ?? []).map(({jsonPath}) => tag('selectableField', jsonPath)),
    ...(version.additionalPrinterColumns ?? []).map(column => tag('column', columnText(column))),
  ];
};

/** What the tags of a kind say, and the tags that belong to its schema. */
export interface KindFacts {
  readonly group?: string;
  readonly kind?: string;
  readonly version?: string;
  readonly plural?: string;
  readonly singular?: string;
  readonly listKind?: string;
  readonly scope?: 'Namespaced' | 'Cluster';
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly conversion?: Conversion;
  readonly isStored: boolean;
  readonly isServed: boolean;
  readonly deprecated?: string;
  readonly subresources: NonNullable<Version['subresources']>;
  readonly selectableFields: readonly string[];
  readonly columns: readonly Column[];
  readonly schemaTags: readonly Tag[];
}

type Facts = {-readonly [K in keyof KindFacts]: KindFacts[K] extends readonly (infer T)[] ? T[] : KindFacts[K]};

/** The words of a tag's text: of `a key=value "c d"` the positions, and the values by key. */
const wordsOf = (text: string): {readonly words: readonly string[]; readonly values: Readonly<Record<string, string>>} => {
  const words: string[] = [];
  const values: Record<string, string> = {};
  for (const [, key, quoted, plain = ''] of text.matchAll(/(?:([a-z]+)=)?(?:("(?:[^"\\]|\\.)*")|(\S+))/g)) {
    const value = quoted === undefined ? plain : (JSON.parse(quoted) as string);
    if (key === undefined) words.push(value);
    else values[key] = value;
  }
  return {words, values};
};

const only = (values: Readonly<Record<string, string>>, allowed: readonly string[], name: string): void => {
  const odd = Object.keys(values).find(key => !allowed.includes(key));
  if (odd) throw new Error(`@${name} knows ${allowed.map(key => `${key}=`).join(', ')}, not ${odd}=`);
};

const columnOf = (text: string): Column => {
  const {words, values} = wordsOf(text);
  const [name, type, jsonPath, more] = words;
  if (name === undefined || type === undefined || jsonPath === undefined || more !== undefined)
    throw new Error('@column needs a name, a type and a path, such as @column Schedule string .spec.schedule');
  only(values, ['priority', 'format', 'description'], 'column');
  const {priority, format, description} = values;
  if (priority !== undefined && !/^-?\d+$/.test(priority)) throw new Error(`@column needs a whole number as priority, not ${priority}`);
  return {
    name,
    type,
    jsonPath,
    ...(priority ? {priority: Number(priority)} : {}),
    ...(format ? {format} : {}),
    ...(description ? {description} : {}),
  };
};

const subresourceOf = (text: string): KindFacts['subresources'] => {
  const {words, values} = wordsOf(text);
  const [name] = words;
  if (name === 'status' && words.length === 1) return {status: {}};
  only(values, ['spec', 'status', 'selector'], 'subresource scale');
  const {spec, status, selector} = values;
  if (name !== 'scale' || words.length !== 1 || spec === undefined || status === undefined)
    throw new Error(
      '@subresource needs status, or scale with paths, such as @subresource scale spec=.spec.replicas status=.status.replicas',
    );
  return {scale: {specReplicasPath: spec, statusReplicasPath: status, ...(selector ? {labelSelectorPath: selector} : {})}};
};

/** Reads `webhook service=NAMESPACE/NAME path=/convert`, or the whole in JSON. */
const conversionOf = (text: string): Conversion => {
  if (text.startsWith('{')) return JSON.parse(text) as Conversion;
  const {words, values} = wordsOf(text);
  only(values, ['service', 'path', 'port'], 'conversion webhook');
  const [, namespace, name] = /^([^/]+)\/([^/]+)$/.exec(values['service'] ?? '') ?? [];
  const {path, port} = values;
  if (words.join() !== 'webhook' || namespace === undefined || name === undefined || (port !== undefined && !/^\d+$/.test(port)))
    throw new Error('@conversion needs a webhook, such as @conversion webhook service=my-system/my-webhooks path=/convert, or JSON');
  const service = {namespace, name, ...(path ? {path} : {}), ...(port ? {port: Number(port)} : {})};
  return {strategy: 'Webhook', webhook: {clientConfig: {service}, conversionReviewVersions: ['v1']}};
};

const named = (text: string, name: string): Record<string, string> => {
  const [key, value, more] = wordsOf(text).words;
  if (key === undefined || value === undefined || more !== undefined) throw new Error(`@${name} needs a name and a value`);
  return {[key]: value};
};

const single = (name: string, text: string): string => {
  if (!/^\S+$/.test(text)) throw new Error(`@${name} needs one word`);
  return text;
};

type Reader = (facts: Facts, text: string) => void;

const readers: Readonly<Record<string, Reader>> = {
  ...Object.fromEntries(
    (['group', 'kind', 'version', 'plural', 'singular', 'listKind'] as const).map(name => [
      name,
      (facts: Facts, text: string) => void (facts[name] = single(name, text)),
    ]),
  ),
  scope(facts, text) {
    if (text !== 'Namespaced' && text !== 'Cluster') throw new Error(`@scope is Namespaced or Cluster, not ${JSON.stringify(text)}`);
    facts.scope = text;
  },
  shortName: (facts, text) => facts.shortNames.push(single('shortName', text)),
  category: (facts, text) => facts.categories.push(single('category', text)),
  label: (facts, text) => Object.assign(facts.labels, named(text, 'label')),
  annotation: (facts, text) => Object.assign(facts.annotations, named(text, 'annotation')),
  conversion: (facts, text) => (facts.conversion = conversionOf(text)),
  storage: facts => (facts.isStored = true),
  unserved: facts => (facts.isServed = false),
  deprecated: (facts, text) => (facts.deprecated = text),
  subresource: (facts, text) => Object.assign(facts.subresources, subresourceOf(text)),
  selectableField: (facts, text) => facts.selectableFields.push(single('selectableField', text)),
  column: (facts, text) => facts.columns.push(columnOf(text)),
};

/** The names of the tags of kinds. */
export const kindTagNames: readonly string[] = Object.keys(readers);

/** Reads the tags of a kind. `fail` throws the error of a tag with its line. */
export const kindFacts = (tags: readonly Tag[], fail: (line: number, message: string) => never): KindFacts => {
  const facts: Facts = {
    shortNames: [],
    categories: [],
    labels: {},
    annotations: {},
    isStored: false,
    isServed: true,
    subresources: {},
    selectableFields: [],
    columns: [],
    schemaTags: [],
  };
  for (const each of tags) {
    const reader = Object.hasOwn(readers, each.name) ? readers[each.name] : undefined;
    if (!reader) {
      facts.schemaTags.push(each);
      continue;
    }
    try {
      reader(facts, each.text);
    } catch (error) {
      fail(each.line, (error as Error).message);
    }
  }
  return facts;
};
