// The schema of a type: its structure from the type, the rest from the tags of its comment.

import type {Doc, Tag} from '#src/codegen/doc.js';
import {failureAt, type Body, type Declaration, type Place, type Property, type TypeNode} from '#src/codegen/declarations/syntax.js';
import {typeText} from '#src/codegen/declarations/type-text.js';
import {TagReader} from '#src/codegen/schema-tags.js';
import {additionalOf, extensions, itemsOf, type JsonSchema} from '#src/schema/json-schema.js';
import {intOrStringAlternatives} from '#src/codegen/known-schemas.js';
import {enumeration, merged} from './combine.js';
import {isNamed, isNull, isUndefined, unionOf} from './nodes.js';
import {packageSchema, Types} from './types.js';
import type {Scope} from './scope.js';

type Writable = {-readonly [K in keyof JsonSchema]: JsonSchema[K]};

/** More declarations within declarations than anybody writes: the type is infinite. */
const maximumDepth = 50;

/** A structural schema without a type accepts any value if it keeps unknown fields. */
const anything: JsonSchema = {[extensions.preserveUnknownFields]: true};

const scalars: Readonly<Record<string, JsonSchema>> = {
  string: {type: 'string'},
  number: {type: 'number'},
  boolean: {type: 'boolean'},
  unknown: anything,
  any: anything,
  Date: {type: 'string', format: 'date-time'},
};

/** What to do about types of the language that are no JSON. */
const refused: Readonly<Record<string, string>> = {
  object: ': use Record<string, unknown>',
  bigint: ': use number with @format int64',
  never: ': leave the field out',
  void: '',
  undefined: '',
  symbol: '',
  this: ': name the type',
};

/** Converts types to schemas. */
export class Schemas {
  readonly #types: Types;
  /** The declarations that are being converted with their arguments, to find those that contain themselves. */
  readonly #open: string[] = [];
  /** The fields that lead to the type that is being converted. */
  readonly #path: string[] = [];

  constructor(scope: Scope) {
    this.#types = new Types(scope);
  }

  /** Returns the schema of a kind's declaration, with the tags that belong to the schema. */
  ofKind(declaration: Declaration, tags: readonly Tag[]): JsonSchema {
    this.#path.length = 0;
    try {
      return this.#kind(declaration, tags);
    } catch (error) {
      if (this.#path.length === 0) throw error;
      throw new Error(`${(error as Error).message} (${declaration.name}${this.#path.join('')})`, {cause: error});
    }
  }

  #kind(declaration: Declaration, tags: readonly Tag[]): JsonSchema {
    const {
      properties = {},
      required = [],
      [extensions.embeddedResource]: _embedded,
      ...schema
    } = this.#within(declaration, () => this.#declared(declaration));
    const meta = (name: string, description: string): JsonSchema =>
      properties[name] ?? {type: name === 'metadata' ? 'object' : 'string', description};
    const whole: JsonSchema = {
      ...schema,
      ...(required.length > 0 ? {required} : {}),
      properties: {
        apiVersion: meta('apiVersion', 'The group and version of this representation of the object.'),
        kind: meta('kind', 'The kind of the object.'),
        metadata: properties['metadata'] ?? {type: 'object'},
        ...properties,
      },
    };
    return this.#tagged(whole, {description: declaration.doc.description, tags}, declaration.at);
  }

  /** Returns the schema of a type. */
  of(type: TypeNode): JsonSchema {
    if (isNamed({...type, of: []} as TypeNode, 'Record') && this.#types.isOfLanguage('Record', type.at)) {
      const record = this.#record(type as TypeNode & {readonly is: 'name'});
      if (record) return record;
    }
    const applied = this.#types.applied(type);
    switch (applied.is) {
      case 'array':
        return {type: 'array', items: this.#at('[]', () => this.of(applied.items))};
      case 'object':
        return this.#body(applied.body);
      case 'union':
        return this.#union(applied.members, applied.at);
      case 'intersection':
        return this.#intersection(applied.members, applied.at);
      case 'documented':
        return this.#documented(applied, () => this.of(applied.type));
      case 'name':
        return this.#named(applied);
      case 'schema':
        return applied.schema;
      case 'literal':
        return enumeration([applied.value], applied.at);
      case 'tuple':
        throw failureAt(applied.at, 'tuples cannot become a schema: write an array');
      default:
        throw failureAt(
          applied.at,
          applied.is === 'none' ? applied.reason : `${typeText(applied)} cannot become a schema: write out the type`,
        );
    }
  }

  #named(type: TypeNode & {readonly is: 'name'}): JsonSchema {
    const {name, of, qualifier, at} = type;
    if (of.length === 0 && qualifier === undefined && this.#types.isOfLanguage(name, at)) {
      const scalar = Object.hasOwn(scalars, name) ? scalars[name] : undefined;
      if (scalar) return scalar;
      if (Object.hasOwn(refused, name)) throw failureAt(at, `${name} cannot become a schema${refused[name]}`);
    }
    const meaning = this.#types.meaning(type);
    if ('packageType' in meaning) return packageSchema(meaning.packageType);
    if ('schema' in meaning) return meaning.schema;
    const declaration = meaning;
    const id = typeText({...type, at: declaration.at});
    return this.#within(declaration, () => this.#documented(declaration, () => this.#declared(declaration)), at, id);
  }

  #declared(declaration: Declaration): JsonSchema {
    if (declaration.is === 'alias') return this.of(declaration.type);
    if (declaration.is === 'interface') return this.#interface(declaration);
    const {members, at} = declaration;
    return this.of(
      unionOf(
        members.map(({type}) => type),
        at,
      ),
    );
  }

  #within<T>(declaration: Declaration, convert: () => T, at = declaration.at, text = declaration.name): T {
    const id = `${declaration.at.file} ${text}`;
    if (this.#open.length > maximumDepth) throw failureAt(at, `${declaration.name} contains itself without end`);
    if (this.#open.includes(id))
      throw failureAt(at, `${declaration.name} contains itself: a structural schema cannot be recursive, use unknown at this place`);
    this.#open.push(id);
    try {
      return convert();
    } finally {
      this.#open.pop();
    }
  }

  /** Converts what a field or a list holds. The path stays as it is if that fails. */
  #at<T>(step: string, convert: () => T): T {
    const {length} = this.#path;
    this.#path.push(step);
    const result = convert();
    this.#path.length = length;
    return result;
  }

  /** Returns the schema of a map; undefined for a record of names that are known. */
  #record({of, at}: TypeNode & {readonly is: 'name'}): JsonSchema | undefined {
    const [key, value] = of;
    if (!key || !value || of.length !== 2) throw failureAt(at, 'Record needs the types of keys and values');
    if (!isNamed(this.#types.resolved(key), 'string', 'number')) return undefined;
    if (isNamed(value, 'never')) return {type: 'object'};
    if (isNamed(value, 'unknown', 'any')) return {type: 'object', [extensions.preserveUnknownFields]: true};
    return {type: 'object', additionalProperties: this.#at('[*]', () => this.of(value))};
  }

  #union(all: readonly TypeNode[], at: Place): JsonSchema {
    const applied = all.map(each => this.#types.applied(each));
    const members = applied.filter(each => !isNull(each) && !isUndefined(each));
    const nullable = applied.some(isNull) ? {nullable: true} : {};
    const [first] = members;
    if (first && members.length === 1) return {...this.of(first), ...nullable};
    if (members.length === 2 && members.some(each => isNamed(each, 'number')) && members.some(each => isNamed(each, 'string')))
      return {[extensions.intOrString]: true, anyOf: intOrStringAlternatives, ...nullable};
    const flat = members.flatMap(each => this.#types.members(each));
    const literals = flat.flatMap(each => (each.is === 'literal' ? [each.value] : []));
    const isNullable = applied.some(isNull) || literals.includes(null);
    const values = [...new Set(literals.filter(each => each !== null))];
    if (values.length > 0 && literals.length === flat.length) return {...enumeration(values, at), ...(isNullable ? {nullable: true} : {})};
    if (flat.every(each => this.#isText(each))) return {type: 'string', ...nullable};
    throw failureAt(
      at,
      'a union can become a schema if it is one of literals, of number and string, or with null: use one interface with optional fields, and @oneOf',
    );
  }

  /** A text, also as `string & {}`, which editors need beside literals. */
  #isText(type: TypeNode): boolean {
    if (type.is === 'literal') return typeof type.value === 'string';
    if (type.is === 'intersection') return type.members.some(each => isNamed(this.#types.resolved(each), 'string'));
    return isNamed(type, 'string');
  }

  #intersection(members: readonly TypeNode[], at: Place): JsonSchema {
    // A scalar with fields is a brand, which exists for the compiler alone.
    const scalar = members.find(each => isNamed(this.#types.resolved(each), 'string', 'number', 'boolean'));
    if (scalar) return this.of(scalar);
    const parts = members.map(member => this.#part(member));
    const isKind = parts.length > 1 && parts.some(each => each[extensions.embeddedResource]);
    return (isKind ? parts.map(declaringFields) : parts).reduce((one, other) => merged(one, other, at));
  }

  /** The schema of a part of an intersection or of a base. */
  #part(type: TypeNode): JsonSchema {
    const schema = this.of(type);
    if (schema.type !== 'object') throw failureAt(type.at, 'only object types can be combined');
    return schema;
  }

  #interface({bases, body, at}: Declaration & {readonly is: 'interface'}): JsonSchema {
    const own = this.#body(body, bases.length > 0);
    return bases
      .map(base => declaringFields(this.#part(base)))
      .concat(own)
      .reduce((one, other) => merged(one, other, body.properties[0]?.at ?? bases[0]?.at ?? at));
  }

  #body({properties, index}: Body, hasBase = false): JsonSchema {
    if (index && properties.length === 0 && !hasBase) return {type: 'object', additionalProperties: this.#at('[*]', () => this.of(index))};
    if (index && !isNamed(index, 'unknown', 'any'))
      throw failureAt(
        index.at,
        index.is === 'none'
          ? index.reason
          : 'an index signature beside properties must be of unknown: a schema cannot declare the values of other fields',
      );
    const schemas: Record<string, JsonSchema> = {};
    const required: string[] = [];
    for (const property of properties) {
      if (Object.hasOwn(schemas, property.name)) throw failureAt(property.at, `${property.name} is declared twice`);
      schemas[property.name] = this.#at(`.${property.name}`, () => this.#property(property));
      if (!property.isOptional && !this.#mayBeUndefined(property.type)) required.push(property.name);
    }
    return {
      type: 'object',
      ...(properties.length > 0 ? {properties: schemas} : {}),
      ...(required.length > 0 ? {required} : {}),
      ...(index ? {[extensions.preserveUnknownFields]: true} : {}),
    };
  }

  #mayBeUndefined(type: TypeNode): boolean {
    const applied = this.#types.applied(type);
    return applied.is === 'union' && applied.members.some(isUndefined);
  }

  #property(property: Property): JsonSchema {
    return this.#documented(property, () => this.of(property.type));
  }

  /** Returns the schema that a comment states with `@schema`, or that of the type, with the other tags. */
  #documented({doc, at}: {readonly doc: Doc; readonly at: Place}, convert: () => JsonSchema): JsonSchema {
    return this.#tagged(doc.tags.some(({name}) => name === 'schema') ? {} : convert(), doc, at);
  }

  /**
   * Returns the schema with its description and what the tags say. Those of `items.` and `values.` belong to what a
   * list or a map holds.
   */
  #tagged(schema: JsonSchema, {description, tags}: Doc, at: Place): JsonSchema {
    const own = tags.filter(({name}) => !/^(items|values)\./.test(name));
    const reader = new TagReader({...schema, ...(description ? {description} : {})});
    for (const tag of own) withPlace({...at, line: tag.line}, () => reader.read(tag));
    const whole: Writable = withIntegers(reader.schema(), own);
    for (const [prefix, inner, keyword] of [
      ['items.', itemsOf(whole), 'items'],
      ['values.', additionalOf(whole), 'additionalProperties'],
    ] as const) {
      const nested = tags.filter(({name}) => name.startsWith(prefix));
      if (nested.length === 0) continue;
      if (!inner) throw failureAt({...at, line: nested[0]!.line}, `@${nested[0]!.name} needs a type that has ${prefix.slice(0, -1)}`);
      whole[keyword] = this.#tagged(inner, {description: '', tags: nested.map(tag => ({...tag, name: tag.name.slice(prefix.length)}))}, at);
    }
    return whole;
  }
}

/** A number with the format of an integer is one, unless it is said to be none. */
const withIntegers = (schema: JsonSchema, tags: readonly Tag[]): JsonSchema =>
  schema.type === 'number' && /^int(32|64)$/.test(schema.format ?? '') && !tags.some(({name}) => name === 'number')
    ? {...schema, type: 'integer'}
    : schema;

const withPlace = (at: Place, act: () => void): void => {
  try {
    act();
  } catch (error) {
    throw failureAt(at, (error as Error).message);
  }
};

/** An object of the API that declares fields keeps no unknown ones. */
const declaringFields = (part: JsonSchema): JsonSchema => {
  const {[extensions.preserveUnknownFields]: keeps, ...schema} = part;
  return schema[extensions.embeddedResource] || keeps === undefined ? schema : part;
};
