// The schema of a type: its structure from the type, the rest from the tags of its comment.

import type {Doc, Tag} from '#src/codegen/doc.js';
import {failureAt, type Body, type Declaration, type Place, type Property, type TypeNode} from '#src/codegen/declarations/syntax.js';
import {TagReader} from '#src/codegen/schema-tags.js';
import {additionalOf, extensions, itemsOf, type JsonSchema} from '#src/schema/json-schema.js';
import {conditionSchema, intOrStringAlternatives} from '#src/codegen/known-schemas.js';
import type {Scope} from './scope.js';

type Writable = {-readonly [K in keyof JsonSchema]: JsonSchema[K]};

/** A structural schema without a type accepts any value if it keeps unknown fields. */
const anything: JsonSchema = {[extensions.preserveUnknownFields]: true};

const scalars: Readonly<Record<string, JsonSchema>> = {
  string: {type: 'string'},
  number: {type: 'number'},
  boolean: {type: 'boolean'},
  unknown: anything,
  any: anything,
};

const isNull = (type: TypeNode): boolean => type.is === 'literal' && type.value === null;
const isUndefined = (type: TypeNode): boolean => type.is === 'name' && type.name === 'undefined';
const isNamed = (type: TypeNode, name: string): boolean => type.is === 'name' && type.name === name && type.of.length === 0;

/** Converts types to schemas. */
export class Schemas {
  readonly #scope: Scope;
  /** The declarations that are being converted, to find those that contain themselves. */
  readonly #open: Declaration[] = [];

  constructor(scope: Scope) {
    this.#scope = scope;
  }

  /** Returns the schema of a kind's interface, with the tags that belong to the schema. */
  ofKind(declaration: Declaration & {readonly is: 'interface'}, tags: readonly Tag[]): JsonSchema {
    const {
      properties = {},
      required = [],
      [extensions.embeddedResource]: _embedded,
      ...schema
    } = this.#within(declaration, () => this.#interface(declaration));
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
    switch (type.is) {
      case 'literal':
        return enumeration([type], type.at);
      case 'array':
        return {type: 'array', items: this.of(type.items)};
      case 'object':
        return this.#body(type.body);
      case 'union':
        return this.#union(type.members, type.at);
      case 'intersection':
        return type.members.map(member => this.#part(member)).reduce((one, other) => merged(one, other, type.at));
      case 'name':
        return this.#named(type);
    }
  }

  #named({name, of, at}: TypeNode & {readonly is: 'name'}): JsonSchema {
    if (name === 'Record') return this.#record(of, at);
    if (of.length > 0) throw failureAt(at, `${name} with type arguments cannot become a schema: declare the type by itself`);
    const scalar = Object.hasOwn(scalars, name) ? scalars[name] : undefined;
    if (scalar) return scalar;
    if (['object', 'never', 'void', 'undefined', 'symbol', 'bigint', 'this'].includes(name))
      throw failureAt(at, `${name} cannot become a schema${name === 'object' ? ': use Record<string, unknown>' : ''}`);
    const meaning = this.#scope.meaning(name, at);
    if ('packageType' in meaning) return packageSchema(meaning.packageType);
    const {declaration} = meaning;
    return this.#within(
      declaration,
      () =>
        this.#tagged(
          declaration.is === 'alias' ? this.of(declaration.type) : this.#interface(declaration),
          declaration.doc,
          declaration.at,
        ),
      at,
    );
  }

  #within<T>(declaration: Declaration, convert: () => T, at = declaration.at): T {
    if (this.#open.includes(declaration))
      throw failureAt(at, `${declaration.name} contains itself: a structural schema cannot be recursive, use unknown at this place`);
    this.#open.push(declaration);
    try {
      return convert();
    } finally {
      this.#open.pop();
    }
  }

  #record(of: readonly TypeNode[], at: Place): JsonSchema {
    const [key, value] = of;
    if (!key || !value || of.length !== 2) throw failureAt(at, 'Record needs the types of keys and values');
    if (!isNamed(key, 'string')) throw failureAt(at, 'the keys of a Record must be strings: declare an interface for names that are known');
    if (isNamed(value, 'never')) return {type: 'object'};
    if (isNamed(value, 'unknown') || isNamed(value, 'any')) return {type: 'object', [extensions.preserveUnknownFields]: true};
    return {type: 'object', additionalProperties: this.of(value)};
  }

  #union(all: readonly TypeNode[], at: Place): JsonSchema {
    const members = all.filter(each => !isNull(each) && !isUndefined(each));
    const hasNull = all.some(isNull);
    const nullable = hasNull ? {nullable: true} : {};
    const [first] = members;
    if (first && members.length === 1) return {...this.of(first), ...nullable};
    if (members.length === 2 && members.some(each => isNamed(each, 'number')) && members.some(each => isNamed(each, 'string')))
      return {[extensions.intOrString]: true, anyOf: intOrStringAlternatives, ...nullable};
    const literals = members.flatMap(each => this.#literals(each));
    if (literals.length > 0 && literals.every(each => each !== undefined)) return {...enumeration(literals, at), ...nullable};
    throw failureAt(
      at,
      'a union can become a schema if it is one of literals, of number and string, or with null: use one interface with optional fields, and @oneOf',
    );
  }

  /** The literals of a member of a union; an alias may name several. */
  #literals(type: TypeNode): readonly (Literal | undefined)[] {
    if (type.is === 'literal') return [type];
    if (type.is !== 'name' || type.of.length > 0 || Object.hasOwn(scalars, type.name)) return [undefined];
    const meaning = this.#scope.meaning(type.name, type.at);
    if (!('declaration' in meaning) || meaning.declaration.is !== 'alias') return [undefined];
    const {type: inner} = meaning.declaration;
    return inner.is === 'union' ? inner.members.flatMap(each => this.#literals(each)) : this.#literals(inner);
  }

  /** The schema of a part of an intersection or of a base. */
  #part(type: TypeNode): JsonSchema {
    const schema = this.of(type);
    if (schema.type !== 'object') throw failureAt(type.at, 'only object types can be combined');
    return schema;
  }

  #interface({bases, body}: Declaration & {readonly is: 'interface'}): JsonSchema {
    const own = this.#body(body, bases.length > 0);
    return bases
      .map(base => this.#baseOf(base))
      .concat(own)
      .reduce((one, other) => merged(one, other, body.properties[0]?.at ?? bases[0]!.at));
  }

  /** An object of the API that declares fields keeps no unknown ones. */
  #baseOf(base: TypeNode): JsonSchema {
    const {[extensions.preserveUnknownFields]: keeps, ...schema} = this.#part(base);
    return schema[extensions.embeddedResource] || keeps === undefined ? schema : {...schema, [extensions.preserveUnknownFields]: keeps};
  }

  #body({properties, index}: Body, hasBase = false): JsonSchema {
    if (index && properties.length === 0 && !hasBase) return {type: 'object', additionalProperties: this.of(index)};
    if (index && !isNamed(index, 'unknown') && !isNamed(index, 'any'))
      throw failureAt(
        index.at,
        'an index signature beside properties must be of unknown: a schema cannot declare the values of other fields',
      );
    const schemas: Record<string, JsonSchema> = {};
    const required: string[] = [];
    for (const property of properties) {
      if (Object.hasOwn(schemas, property.name)) throw failureAt(property.at, `${property.name} is declared twice`);
      schemas[property.name] = this.#property(property);
      if (!property.isOptional && !isOptionalType(property.type)) required.push(property.name);
    }
    return {
      type: 'object',
      ...(properties.length > 0 ? {properties: schemas} : {}),
      ...(required.length > 0 ? {required} : {}),
      ...(index ? {[extensions.preserveUnknownFields]: true} : {}),
    };
  }

  #property({type, doc, at}: Property): JsonSchema {
    return this.#tagged(this.of(type), doc, at);
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

type Literal = TypeNode & {readonly is: 'literal'};

const isOptionalType = (type: TypeNode): boolean => type.is === 'union' && type.members.some(isUndefined);

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

const enumeration = (literals: readonly (Literal | undefined)[], at: Place): JsonSchema => {
  const values = literals.map(each => each!.value);
  const types = new Set(values.map(value => (typeof value === 'number' ? (Number.isInteger(value) ? 'integer' : 'number') : typeof value)));
  if (types.has('number')) types.delete('integer');
  const [type, other] = types;
  if (type === undefined || other !== undefined) throw failureAt(at, 'the literals of a union must be of one type');
  return {type, enum: values};
};

const packageSchema = (name: 'KubeObject' | 'ObjectMeta' | 'Condition'): JsonSchema => {
  if (name === 'Condition') return conditionSchema;
  if (name === 'ObjectMeta') return {type: 'object'};
  return {type: 'object', [extensions.embeddedResource]: true, [extensions.preserveUnknownFields]: true};
};

/** Combines two object schemas. Fields of the second replace those of the first. */
const merged = (one: JsonSchema, other: JsonSchema, at: Place): JsonSchema => {
  if (one.additionalProperties !== undefined || other.additionalProperties !== undefined)
    throw failureAt(at, 'a map cannot be combined with other fields: a schema has either');
  const properties = {...one.properties, ...other.properties};
  const required = [...new Set([...(one.required ?? []), ...(other.required ?? [])])];
  return {
    ...one,
    ...other,
    ...(Object.keys(properties).length > 0 ? {properties} : {}),
    ...(required.length > 0 ? {required} : {}),
  };
};
