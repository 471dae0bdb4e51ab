// Declares the types of a schema. What a type cannot say goes into the tags of its comment.

import {jsonText} from '#src/base/json/json.js';
import {commentLines, tag, textArgument, type Doc, type Tag} from '#src/codegen/doc.js';
import {tagsOf} from '#src/codegen/schema-tags.js';
import {additionalOf, extensions, itemsOf, type JsonSchema} from '#src/schema/json-schema.js';
import {intOrStringAlternatives} from '#src/codegen/known-schemas.js';
import {literal, propertyName, typeName, type Names} from './names.js';

/** A type of TypeScript, and the tags that say the rest. */
export interface Declared {
  readonly type: string;
  readonly tags: readonly Tag[];
}

/** Properties of every object of the API, declared by `KubeObject`. */
const objectProperties: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

const isInteger = (format: string | undefined): boolean => format === 'int32' || format === 'int64';

const repeatsIntOrString = ({anyOf}: JsonSchema): boolean => jsonText(anyOf) === JSON.stringify(intOrStringAlternatives);

const isLiteral = (value: unknown): boolean => value === null || ['string', 'number', 'boolean'].includes(typeof value);

/** Returns the union of the values of an enumeration; undefined if some value is no literal. */
const unionOf = ({enum: values, nullable}: JsonSchema): string | undefined => {
  if (!values || values.length === 0 || !values.every(isLiteral)) return undefined;
  const all = nullable && !values.includes(null) ? [...values, null] : values;
  return all.map(value => (typeof value === 'string' ? literal(value) : String(value))).join(' | ');
};

/** What an interface is declared with. */
interface InterfaceOptions {
  readonly name: string;
  readonly base?: string | undefined;
}

type Shape = Declared & {
  /** The keywords that the type says. */
  readonly says?: readonly (keyof JsonSchema)[];
  /** The interface, which can have a comment of its own. */
  readonly declaration?: string;
};

/** Declares types, and collects the interfaces that they need. */
export class Declarer {
  readonly #names: Names;
  readonly #interfaces = new Map<string, {comment: readonly string[]; readonly lines: string[]}>();
  /** Names of the package that are used. */
  readonly uses = new Set<string>();

  constructor(names: Names) {
    this.#names = names;
  }

  /** Returns the text of an interface, which is not returned again by `rest`. */
  take(name: string): string {
    const {comment, lines} = this.#interfaces.get(name)!;
    this.#interfaces.delete(name);
    return [...comment, ...lines].join('\n');
  }

  /** Returns the texts of all other interfaces: those that are used first before those within them. */
  rest(): readonly string[] {
    return [...this.#interfaces.keys()].map(name => this.take(name));
  }

  /** Returns the type of a schema. `name` is that of an interface, if it needs one. */
  declare(schema: JsonSchema, name: string): Declared {
    const {type, tags} = this.#declared(schema, name);
    return {type, tags};
  }

  #declared(schema: JsonSchema, name: string): Shape {
    const {type, tags, says = [], declaration} = this.#shape(schema, name);
    const addsNull = schema.nullable === true && type !== 'unknown' && !says.includes('nullable');
    return {
      type: addsNull ? `${type} | null` : type,
      tags: [...tags, ...tagsOf(schema, [...says, ...(addsNull ? (['nullable'] as const) : [])])],
      ...(declaration === undefined ? {} : {declaration}),
    };
  }

  #shape(schema: JsonSchema, name: string): Shape {
    const {type, format} = schema;
    if (schema[extensions.intOrString])
      return {
        type: 'number | string',
        tags: [],
        says: [extensions.intOrString, ...(repeatsIntOrString(schema) ? (['anyOf'] as const) : [])],
      };
    const union = unionOf(schema);
    if (union) {
      const seemsInteger = schema.enum!.every(value => value === null || Number.isInteger(value));
      return {type: union, tags: type === 'number' && seemsInteger ? [tag('number')] : [], says: ['enum', 'nullable']};
    }
    switch (type) {
      case 'string':
      case 'boolean':
        return {type, tags: []};
      case 'integer':
        return {type: 'number', tags: isInteger(format) ? [] : [tag('integer')]};
      case 'number':
        return {type, tags: isInteger(format) ? [tag('number')] : []};
      case 'array': {
        const items = this.#within(itemsOf(schema) ?? {}, `${name}Item`, 'items');
        return {type: / [|&] /.test(items.type) ? `(${items.type})[]` : `${items.type}[]`, tags: items.tags};
      }
      case 'object':
        return this.#object(schema, name);
      default:
        return {type: 'unknown', tags: [], says: [extensions.preserveUnknownFields]};
    }
  }

  /**
   * Declares what has no property of its own: an interface gets a comment, other types are described where they are
   * used.
   */
  #within(schema: JsonSchema, name: string, prefix: string): Declared {
    const {type, tags, declaration} = this.#declared(schema, name);
    const {description = ''} = schema;
    if (declaration !== undefined) {
      this.describe(declaration, {description, tags});
      return {type, tags: []};
    }
    const described = [...(description ? [tag('description', textArgument(description))] : []), ...tags];
    return {type, tags: described.map(each => ({...each, name: `${prefix}.${each.name}`}))};
  }

  #object(schema: JsonSchema, name: string): Shape {
    const {properties = {}, required = []} = schema;
    const keepsUnknown = schema[extensions.preserveUnknownFields] === true;
    const isEmbedded = schema[extensions.embeddedResource] === true;
    const says = [extensions.preserveUnknownFields, extensions.embeddedResource] as const;
    if (isEmbedded && keepsUnknown && Object.keys(properties).length === 0 && required.length === 0)
      return {type: this.#used('KubeObject'), tags: [], says};
    if (isEmbedded || Object.keys(properties).length > 0) {
      const declaration = this.interface(schema, {name: this.#names.unique(name), base: isEmbedded ? 'KubeObject' : undefined});
      return {type: declaration, tags: undeclared(schema, isEmbedded), says, declaration};
    }
    const values = additionalOf(schema);
    const tags = undeclared(schema, false);
    if (values && isUnknown(values)) return {type: '{[name: string]: unknown}', tags};
    if (values) {
      const within = this.#within(values, `${name}Value`, 'values');
      return {type: `Record<string, ${within.type}>`, tags: [...tags, ...within.tags]};
    }
    return {type: keepsUnknown || schema.additionalProperties === true ? 'Record<string, unknown>' : 'Record<string, never>', tags, says};
  }

  /** Declares an interface of a name that is free, and returns the name. With a base it is an object of the API. */
  interface(schema: JsonSchema, {name, base}: InterfaceOptions): string {
    const lines: string[] = [];
    this.#interfaces.set(name, {comment: [], lines});
    const {properties = {}, required = []} = schema;
    const inherited = base === undefined ? new Set<string>() : objectProperties;
    lines.push(`export interface ${name}${base === undefined ? '' : ` extends ${this.#used(base)}`} {`);
    for (const property of required.filter(each => inherited.has(each))) {
      if (!properties[property] || isPlainMeta(property, properties[property]))
        lines.push(`  ${property}: ${property === 'metadata' ? this.#used('ObjectMeta') : 'string'};`);
    }
    for (const [property, value] of Object.entries(properties)) {
      if (inherited.has(property) && isPlainMeta(property, value)) continue;
      const {type, tags} = this.#declared(value, `${name}${typeName(property)}`);
      lines.push(...commentLines({description: value.description ?? '', tags}, '  '));
      lines.push(`  ${propertyName(property)}${required.includes(property) ? '' : '?'}: ${type};`);
    }
    if (schema[extensions.preserveUnknownFields]) lines.push('  [name: string]: unknown;');
    lines.push('}');
    return name;
  }

  /** Sets the comment of an interface. */
  describe(name: string, doc: Doc): void {
    this.#interfaces.get(name)!.comment = commentLines(doc);
  }

  #used(name: string): string {
    this.uses.add(name);
    return name;
  }
}

/** Returns tags for what is required and not declared. */
export const undeclared = ({properties = {}, required = []}: JsonSchema, isObject: boolean): Tag[] =>
  required
    .filter(name => !Object.hasOwn(properties, name) && !(isObject && objectProperties.has(name)))
    .map(name => tag('required', textArgument(name)));

/** Whether a schema accepts any value and says nothing else. */
const isUnknown = (schema: JsonSchema): boolean => schema[extensions.preserveUnknownFields] === true && Object.keys(schema).length === 1;

/** Whether a property of every object has a schema that says nothing. */
const isPlainMeta = (name: string, schema: JsonSchema): boolean =>
  Object.keys(schema).every(key => key === 'type' || key === 'description') && schema.type === (name === 'metadata' ? 'object' : 'string');
