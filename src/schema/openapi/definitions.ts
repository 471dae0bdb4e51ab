import type {GroupToken, Naming} from '#src/api/naming.js';
import {stepsOf, type Steps, type MaybeSteps} from '#src/base/steps.js';
import {enumOf} from '#src/schema/markers/enums.js';
import {registeredGroupVersions} from '#src/schema/markers/group-versions.js';
import type {SchemaNode, TypeRef} from '#src/schema/node.js';
import type {Schemas} from '#src/schema/builtin/schemas.js';
import type {TypeDocs} from '#src/schema/builtin/tables.js';
import {customType, type ObjectFields} from './custom-type.js';
import type {DescribedResource} from './description.js';
import {definitionName, definitionOf, extension, type Json} from './names.js';

// The definitions of OpenAPI documents, written from schema nodes. Referenced types are collected and written one at a
// time, so that the caller can yield in between.

/**
 * The location of definitions and the capabilities of an OpenAPI version. Version 2 has neither defaults nor
 * alternatives.
 */
export interface Dialect {
  readonly version: 2 | 3;
  readonly refPrefix: string;
}

export const openApiV2: Dialect = {version: 2, refPrefix: '#/definitions/'};
export const openApiV3: Dialect = {version: 3, refPrefix: '#/components/schemas/'};

const plainGroups: ReadonlySet<string> = new Set(['', 'apps', 'autoscaling', 'batch', 'extensions', 'policy']);

const everywhere = (naming: Naming, kind: string): Json[] =>
  registeredGroupVersions.flatMap(([group, versions]) =>
    versions.split(' ').map(version => ({group: plainGroups.has(group) ? group : `${group}.${naming.apiSuffix}`, kind, version})),
  );

/** Meta types that are kinds of the core group. */
const coreMetaKinds: ReadonlySet<string> = new Set(['APIGroup', 'APIGroupList', 'APIResourceList', 'APIVersions', 'Status']);

const kindsOf = (naming: Naming, {group, version, name}: TypeRef, node: SchemaNode): Json[] | undefined => {
  if (group === 'meta') {
    if (name === 'DeleteOptions' || name === 'WatchEvent') return everywhere(naming, name);
    return coreMetaKinds.has(name) ? [{group: '', kind: name, version}] : undefined;
  }
  const isKind = ['apiVersion', 'kind', 'metadata'].every(field => node.properties?.has(field));
  return isKind ? [{group: naming.group(group as GroupToken), kind: name, version}] : undefined;
};

/** Returns a property with its enum values, or those of its items. */
const withEnum = (property: Json, texts: readonly string[] | undefined): Json => {
  if (!texts) return property;
  const within = ['items', 'additionalProperties'].find(key => property[key] !== undefined);
  return within === undefined ? {...property, enum: texts} : {...property, [within]: {...(property[within] as Json), enum: texts}};
};

/** A definition as documents contain it, and the types it refers to. */
export interface WrittenDefinition<T> {
  readonly content: T;
  readonly refs: ReadonlyMap<string, SchemaNode>;
}

export interface DefinitionsOptions<T> {
  readonly schemas: Schemas;
  readonly naming: Naming;
  readonly dialect: Dialect;
  /** Whether fields of built-in types list their values. */
  readonly enums: boolean;
  /** Returns the resource of a type that is a custom resource or its list. */
  custom?(ref: TypeRef): DescribedResource | undefined;
  /** Encodes a definition to be kept: it takes far fewer bytes than objects. */
  write(name: string, definition: Json): MaybeSteps<T>;
  /** Definitions by name, shared by the documents that contain them. */
  readonly written: Map<string, WrittenDefinition<T>>;
}

/** Writes schema nodes as OpenAPI schemas and collects the definitions they refer to. */
export class Definitions<T = unknown> {
  readonly #schemas: Schemas;
  readonly #naming: Naming;
  readonly #dialect: Dialect;
  readonly #options: DefinitionsOptions<T>;
  readonly #done = new Map<string, T | undefined>();
  readonly #open: [name: string, node: SchemaNode][] = [];
  /** The types that the current definition refers to. */
  #refs = new Map<string, SchemaNode>();

  constructor(options: DefinitionsOptions<T>) {
    this.#schemas = options.schemas;
    this.#naming = options.naming;
    this.#dialect = options.dialect;
    this.#options = options;
  }

  /** Returns a reference to a type, which becomes a definition of the document. */
  ref(of: TypeRef): Json {
    const node = this.#schemas.of(of.group, of.version, of.name) ?? {type: 'any', format: 'json', ref: of};
    const name = definitionName(this.#naming, of);
    this.#add(name, node);
    return this.#pointer(name);
  }

  /** Writes one more of the referenced definitions; returns false when none is left. */
  *writeOne(): Steps<boolean> {
    const [name, node] = this.#open.pop() ?? [];
    if (name === undefined || !node) return false;
    const {written} = this.#options;
    let definition = written.get(name);
    if (!definition) {
      this.#refs = new Map();
      const made = yield* stepsOf(this.#definition(node));
      definition = {content: yield* stepsOf(this.#options.write(name, made)), refs: this.#refs};
      written.set(name, definition);
    }
    for (const [ref, of] of definition.refs) this.#add(ref, of);
    this.#done.set(name, definition.content);
    return true;
  }

  /** Returns all written definitions, sorted by name. */
  sorted(): [name: string, content: T][] {
    return ([...this.#done] as [string, T][]).sort(([a], [b]) => (a < b ? -1 : 1));
  }

  #add(name: string, node: SchemaNode): void {
    if (this.#done.has(name)) return;
    this.#done.set(name, undefined);
    this.#open.push([name, node]);
  }

  #refTo(name: string, node: SchemaNode): Json {
    this.#refs.set(name, node);
    return this.#pointer(name);
  }

  #pointer(name: string): Json {
    return {$ref: `${this.#dialect.refPrefix}${name}`};
  }

  #definition(of: SchemaNode): MaybeSteps<Json> {
    const resource = of.ref && this.#options.custom?.(of.ref);
    if (resource) return of.ref?.name === resource.kind.kind ? this.#custom(resource) : this.#customList(resource);
    // Use the type itself, without what the referring field adds.
    const node = of.ref ? this.#schemas.of(of.ref.group, of.ref.version, of.ref.name) : undefined;
    if (!node?.ref) return this.#opaque(of);
    const {ref} = node;
    const docs = this.#schemas.docs(ref);
    const required = [...(node.required ?? [])];
    const properties = Object.fromEntries(
      [...(node.properties ?? [])].map(([field, value]) => [
        field,
        withEnum(this.#field(field, value, docs), this.#options.enums ? enumOf(ref.group, ref.name, field) : undefined),
      ]),
    );
    const kinds = kindsOf(this.#naming, ref, node);
    return {
      ...this.#described(docs?.description),
      ...(Object.keys(properties).length > 0 ? {properties} : {}),
      ...(required.length > 0 ? {required} : {}),
      type: 'object',
      ...(node.mapType ? extension(this.#naming, 'map-type', node.mapType) : {}),
      ...(node.union
        ? extension(this.#naming, 'unions', [{discriminator: node.union.discriminator, 'fields-to-discriminateBy': node.union.fields}])
        : {}),
      ...(kinds ? extension(this.#naming, 'group-version-kind', kinds) : {}),
    };
  }

  *#custom({kind, schema}: DescribedResource): Steps<Json> {
    const {source, preserveUnknownFields = false, selectableFields = []} = schema!();
    const {version} = this.#dialect;
    return {
      ...(yield* customType(source, preserveUnknownFields, {naming: this.#naming, version, fields: this.#objectFields('ObjectMeta')})),
      ...this.#marks(kind.group, kind.version, kind.kind, selectableFields),
    };
  }

  #customList({kind, schema}: DescribedResource): Json {
    const {selectableFields = []} = schema!();
    const {group, version, listKind, plural} = kind;
    const ref = {group, version, name: kind.kind};
    const items = {
      description: `List of ${plural}.`,
      items: this.#refTo(definitionName(this.#naming, ref), {type: 'object', ref}),
      type: 'array',
    };
    return {
      description: `${listKind} is a list of ${kind.kind}`,
      properties: {...this.#objectFields('ListMeta'), items},
      required: ['items'],
      type: 'object',
      ...this.#marks(group, version, listKind, selectableFields),
    };
  }

  #marks(group: GroupToken, version: string, kind: string, selectableFields: readonly string[]): Json {
    const fields = selectableFields.map(path => ({fieldPath: path.replace(/^\./, '')}));
    return {
      ...extension(this.#naming, 'group-version-kind', [{group: this.#naming.group(group), kind, version}]),
      ...(fields.length > 0 ? extension(this.#naming, 'selectable-fields', fields) : {}),
    };
  }

  /** Returns the fields of every object, with the documentation of the built-in types. */
  #objectFields(metadata: 'ObjectMeta' | 'ListMeta'): ObjectFields {
    const whole = {group: 'meta', version: 'v1', name: 'Status'};
    const docs = this.#schemas.docs(whole);
    const node = this.#schemas.of('meta', 'v1', metadata)!;
    const text: SchemaNode = {type: 'string'};
    return {
      apiVersion: this.#field('apiVersion', text, docs),
      kind: this.#field('kind', text, docs),
      metadata: this.#field('metadata', node, undefined),
    };
  }

  /** Returns the schema of a type without fields. */
  #opaque({format, ref}: SchemaNode): Json {
    const old = this.#dialect.version === 2;
    switch (format) {
      case 'quantity':
        return old ? {type: 'string'} : {oneOf: [{type: 'string'}, {type: 'number'}]};
      case 'int-or-string':
        return old ? {format, type: 'string'} : {format, oneOf: [{type: 'integer'}, {type: 'string'}]};
      case 'date-time':
      case 'date-time-micro':
        return {format: 'date-time', type: 'string'};
      case 'json':
        return ref && structless.has(ref.name) ? {type: 'object'} : {};
      default:
        return {type: 'object'};
    }
  }

  #field(field: string, node: SchemaNode, docs: TypeDocs | undefined): Json {
    const own = docs && Object.hasOwn(docs.fields, field) ? docs.fields[field] : undefined;
    const text = own ?? (node.ref && !node.isBare ? this.#fallbackDescription(field, node.ref) : undefined);
    return {...this.#described(text), ...this.#value(node, !node.isBare)};
  }

  /** Returns the type's own description for a field without one, except for metadata. */
  #fallbackDescription(field: string, ref: TypeRef): string | undefined {
    if (field === 'metadata' && ref.group === 'meta' && ref.name === 'ObjectMeta')
      return `Standard object's metadata. More info: ${this.#naming.conventions('metadata')}`;
    if (field === 'metadata' && ref.group === 'meta' && ref.name === 'ListMeta')
      return `Standard list metadata. More info: ${this.#naming.conventions('types-kinds')}`;
    return this.#schemas.docs(ref)?.description;
  }

  /** `embeds` wraps a reference so that a description can stand beside it. */
  #value(node: SchemaNode, embeds: boolean): Json {
    const named = definitionOf(this.#naming, node);
    const extras = {...this.#default(node), ...this.#merging(node)};
    if (named !== undefined) {
      const ref = this.#refTo(named, node);
      if (this.#dialect.version === 2) return {...ref, ...extras};
      return embeds || Object.keys(extras).length > 0 ? {allOf: [ref], ...extras} : ref;
    }
    return {...this.#structure(node), ...extras};
  }

  #structure({type, format, items}: SchemaNode): Json {
    switch (type) {
      case 'array':
        return {items: items ? this.#value(items, false) : {}, type};
      case 'map':
        return {additionalProperties: items ? this.#value(items, false) : {}, type: 'object'};
      case 'any':
        return {};
      default:
        return {...(format ? {format} : {}), type};
    }
  }

  #default(node: SchemaNode): Json {
    return this.#dialect.version === 2 || node.default === undefined ? {} : {default: node.default};
  }

  #merging(node: SchemaNode): Json {
    const {listType, listMapKeys, patchStrategy, patchMergeKey} = node;
    const own = node.type === 'object' && node.ref ? this.#schemas.of(node.ref.group, node.ref.version, node.ref.name)?.mapType : undefined;
    return {
      ...(listMapKeys ? extension(this.#naming, 'list-map-keys', listMapKeys) : {}),
      ...(listType ? extension(this.#naming, 'list-type', listType) : {}),
      ...(node.mapType && node.mapType !== own ? extension(this.#naming, 'map-type', node.mapType) : {}),
      ...(patchMergeKey ? extension(this.#naming, 'patch-merge-key', patchMergeKey) : {}),
      ...(patchStrategy ? extension(this.#naming, 'patch-strategy', patchStrategy.join(',')) : {}),
    };
  }

  #described(text: string | undefined): Json {
    if (!text) return {};
    return {description: this.#naming.inWords(this.#options.enums ? text : text.replace(possibleValues, ''))};
  }
}

/** What a description says of the values of an enum, where documents have none. */
const possibleValues = /\n\nPossible enum values:\n[^]*$/;

/** Object types without declared fields. */
const structless: ReadonlySet<string> = new Set(['CustomResourceSubresourceStatus', 'StorageVersionSpec', 'Patch']);
