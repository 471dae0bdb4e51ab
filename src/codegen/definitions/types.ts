// What types come to: the members of unions, the fields of objects, and the results of `keyof`, `T[K]`, mapped and
// conditional types.

import {noDoc} from '#src/codegen/doc.js';
import {
  failureAt,
  type Body,
  type Declaration,
  type LiteralValue,
  type Place,
  type Property,
  type TypeNode,
} from '#src/codegen/declarations/syntax.js';
import {additionalOf, itemsOf, extensions, type JsonSchema} from '#src/schema/json-schema.js';
import {conditionSchema} from '#src/codegen/known-schemas.js';
import {isNamed, isNull, isUndefined, plain, unionOf, withoutUndefined, type Literal, type TypeReader} from './nodes.js';
import type {PackageType, Scope} from './scope.js';
import {instantiated, substituted} from './substitute.js';
import {Conditions} from './conditions.js';
import {utilities} from './utilities.js';

/** More types within types than anybody writes: the type is infinite. */
const maximumDepth = 100;

/** Names of the language that stand for themselves. */
const basic: ReadonlySet<string> = new Set(
  'string number boolean unknown any undefined void never object symbol bigint this Date'.split(' '),
);

/** Computes with types. */
export class Types implements TypeReader {
  readonly #scope: Scope;
  #depth = 0;

  constructor(scope: Scope) {
    this.#scope = scope;
  }

  /** Whether a name is one of the language here, and not declared by the file. */
  isOfLanguage(name: string, at: Place): boolean {
    return !this.#scope.knows(name, at.file);
  }

  /**
   * Returns what an operator comes to. Other types stay: in particular the names of declarations, whose comments belong
   * to the schema.
   */
  applied(type: TypeNode): TypeNode {
    const result = this.#deeper(type.at, () => this.#operator(type));
    return result === type ? type : this.applied(result);
  }

  /** Returns a type as it is made: names are replaced by what they stand for, as far as it is not an interface. */
  resolved(type: TypeNode): TypeNode {
    const applied = this.applied(type);
    if (applied.is === 'documented') return this.resolved(applied.type);
    if (applied.is !== 'name') return applied;
    if (applied.qualifier === undefined && basic.has(applied.name) && this.isOfLanguage(applied.name, applied.at)) return applied;
    const meaning = this.meaning(applied);
    if ('schema' in meaning) return {is: 'schema', ...meaning, at: applied.at};
    if (!('is' in meaning)) return {is: 'schema', schema: packageSchema(meaning.packageType), name: meaning.packageType, at: applied.at};
    return this.#deeper(applied.at, () => {
      if (meaning.is === 'alias') return this.resolved(meaning.type);
      if (meaning.is === 'enum')
        return unionOf(
          meaning.members.map(each => each.type),
          applied.at,
        );
      return {is: 'object', body: this.#bodyOf(meaning), at: applied.at};
    });
  }

  /** Returns the declaration that a name stands for, with its arguments filled in, or a known type. */
  meaning({
    name,
    of,
    qualifier,
    at,
  }: TypeNode & {readonly is: 'name'}):
    | Declaration
    | {readonly packageType: PackageType}
    | {readonly schema: JsonSchema; readonly name: string} {
    const meaning = this.#scope.meaning(name, at, qualifier);
    if ('declaration' in meaning) return instantiated(meaning.declaration, of, at);
    return meaning;
  }

  /** Returns the literals of a type; undefined if it has other members. `null` and `undefined` are left out. */
  literals(type: TypeNode): readonly Literal[] | undefined {
    const members = this.members(type).filter(each => !isNull(each) && !isUndefined(each));
    return members.every(each => each.is === 'literal') ? members : undefined;
  }

  /** Returns the members of a union, also of those within it; a single type is its only member. */
  members(type: TypeNode): readonly TypeNode[] {
    const resolved = this.resolved(type);
    if (resolved.is === 'union') return resolved.members.flatMap(each => this.members(each));
    return isNamed(resolved, 'never') ? [] : [resolved];
  }

  /** Returns the fields of an object type. Throws an error for another one. */
  body(type: TypeNode): Body {
    const members = this.members(type).filter(each => !isNull(each) && !isUndefined(each));
    const [resolved = type] = members;
    if (members.length === 1) {
      if (resolved.is === 'object') return resolved.body;
      if (resolved.is === 'schema' && resolved.schema.type === 'object') return bodyOfSchema(resolved.schema, resolved.at);
      if (resolved.is === 'intersection') return resolved.members.map(each => this.body(each)).reduce(joinedBodies);
    }
    throw failureAt(type.at, `an object type is needed here${resolved.is === 'none' ? `: ${resolved.reason}` : ''}`);
  }

  #bodyOf({bases, body}: Declaration & {readonly is: 'interface'}): Body {
    return [...bases.map(base => this.body(base)), body].reduce(joinedBodies);
  }

  #operator(type: TypeNode): TypeNode {
    switch (type.is) {
      case 'keyof':
        return this.#keysOf(type.type, type.at);
      case 'index':
        return this.#property(type.type, type.key, type.at);
      case 'mapped':
        return this.#mapped(type);
      case 'conditional':
        return new Conditions(this).result(type);
      case 'template':
        return this.#template(type);
      case 'value':
        return this.#valueOf(type.name, type.at);
      case 'name':
        return this.#name(type);
      default:
        return type;
    }
  }

  #name(type: TypeNode & {readonly is: 'name'}): TypeNode {
    const {name, of, qualifier, at} = type;
    if (qualifier !== undefined) return this.#enumMember(qualifier, name, at) ?? type;
    const utility = Object.hasOwn(utilities, name) && this.isOfLanguage(name, at) ? utilities[name] : undefined;
    return utility?.(of, at, this) ?? type;
  }

  #enumMember(qualifier: string, name: string, at: Place): TypeNode | undefined {
    if (!this.#scope.knows(qualifier, at.file)) return undefined;
    const meaning = qualifier.includes('.') ? undefined : this.#enum(qualifier, at);
    return meaning?.members.find(each => each.name === name)?.type;
  }

  #enum(name: string, at: Place): (Declaration & {readonly is: 'enum'}) | undefined {
    if (this.#scope.isModule(name, at.file)) return undefined;
    const meaning = this.#scope.meaning(name, at);
    return 'declaration' in meaning && meaning.declaration.is === 'enum' ? meaning.declaration : undefined;
  }

  #valueOf(name: string, at: Place): TypeNode {
    const constant = this.#scope.constant(name, at);
    if (constant) return constant;
    const members = this.#scope.knows(name, at.file) ? this.#enum(name, at)?.members : undefined;
    if (members) return {is: 'object', body: {properties: members}, at};
    throw failureAt(at, `typeof ${name} cannot become a schema: it is no constant of literals, write out the type`);
  }

  #keysOf(type: TypeNode, at: Place): TypeNode {
    const {properties, index} = this.body(type);
    if (index) return plain('string', at);
    return unionOf(
      properties.map(({name}) => ({is: 'literal', value: name, at})),
      at,
    );
  }

  #property(type: TypeNode, key: TypeNode, at: Place): TypeNode {
    const [of = type, ...others] = this.members(type).filter(each => !isNull(each) && !isUndefined(each));
    if (others.length > 0)
      return unionOf(
        [of, ...others].map(each => this.#property(each, key, at)),
        at,
      );
    if (isNamed(this.resolved(key), 'number')) return this.#item(of, at);
    const keys = this.literals(key);
    const body = this.body(of);
    if (!keys) {
      if (!isNamed(this.resolved(key), 'string') || !body.index)
        throw failureAt(at, 'the key of T[K] must be a literal or a union of them');
      return body.index;
    }
    return unionOf(
      keys.map(({value}) => this.#named(body, value, at, keys.length === 1)),
      at,
    );
  }

  #named({properties, index}: Body, name: LiteralValue, at: Place, isOnly: boolean): TypeNode {
    const property = properties.find(each => each.name === String(name));
    if (!property) {
      if (index) return index;
      throw failureAt(at, `there is no property ${String(name)} to take the type of`);
    }
    const {type, doc, isOptional} = property;
    const documented: TypeNode = isOnly && doc !== noDoc ? {is: 'documented', type, doc, at: property.at} : type;
    return isOptional ? unionOf([documented, plain('undefined', at)], at) : documented;
  }

  #item(type: TypeNode, at: Place): TypeNode {
    if (type.is === 'array') return type.items;
    if (type.is === 'tuple') return unionOf(type.members, at);
    const items = type.is === 'schema' ? itemsOf(type.schema) : undefined;
    if (items) return {is: 'schema', schema: items, name: 'an item', at};
    throw failureAt(at, 'T[number] needs a list');
  }

  #mapped({parameter, keys, as, optional, type, at}: TypeNode & {readonly is: 'mapped'}): TypeNode {
    const literals = this.literals(keys);
    if (!literals) {
      if (!isNamed(this.resolved(keys), 'string')) throw failureAt(at, 'the keys of a mapped type must be literals or string');
      return {is: 'object', body: {properties: [], index: type}, at};
    }
    const source = keys.is === 'keyof' ? this.body(keys.type).properties : [];
    const properties = literals.flatMap((key): Property[] => {
      const of = new Map([[parameter, key]]);
      const names = as ? (this.literals(substituted(as, of)) ?? []) : [key];
      const original = source.find(each => each.name === String(key.value));
      const isOptional = optional === 'added' || (optional === 'kept' && original?.isOptional === true);
      const value = substituted(type, of);
      return names.map(name => ({
        name: String(name.value),
        isOptional,
        type: original?.isOptional ? withoutUndefined(this.applied(value), this) : value,
        doc: noDoc,
        at: original?.at ?? at,
      }));
    });
    return {is: 'object', body: {properties}, at};
  }

  #template({texts, types, at}: TypeNode & {readonly is: 'template'}): TypeNode {
    let values = [texts[0]!];
    for (const [index, type] of types.entries()) {
      const literals = this.literals(type);
      if (!literals) return {is: 'none', reason: 'template literals cannot become a schema: use a string with @pattern', at};
      values = values.flatMap(before => literals.map(({value}) => `${before}${String(value)}${texts[index + 1]!}`));
    }
    return unionOf(
      values.map(value => ({is: 'literal', value, at})),
      at,
    );
  }

  #deeper<T>(at: Place, act: () => T): T {
    if (this.#depth >= maximumDepth) throw failureAt(at, 'the type contains itself without end: a structural schema cannot be recursive');
    this.#depth++;
    try {
      return act();
    } finally {
      this.#depth--;
    }
  }
}

const joinedBodies = (one: Body, other: Body): Body => {
  const names = new Set(other.properties.map(({name}) => name));
  const index = other.index ?? one.index;
  return {properties: [...one.properties.filter(({name}) => !names.has(name)), ...other.properties], ...(index ? {index} : {})};
};

const bodyOfSchema = (schema: JsonSchema, at: Place): Body => {
  const {properties = {}, required = []} = schema;
  const values = additionalOf(schema);
  return {
    properties: Object.entries(properties).map(([name, of]) => ({
      name,
      isOptional: !required.includes(name),
      type: {is: 'schema', schema: of, name, at},
      doc: noDoc,
      at,
    })),
    ...(values ? {index: {is: 'schema', schema: values, name: 'a value', at}} : {}),
    ...(schema[extensions.preserveUnknownFields] ? {index: plain('unknown', at)} : {}),
  };
};

/** Returns the schema of a type of the package. */
export const packageSchema = (name: PackageType): JsonSchema => {
  if (name === 'Condition') return conditionSchema;
  if (name === 'ObjectMeta') return {type: 'object'};
  return {type: 'object', [extensions.embeddedResource]: true, [extensions.preserveUnknownFields]: true};
};
