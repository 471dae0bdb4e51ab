import {jsonText} from '#src/base/json/json.js';
import {entityTooLarge} from '#src/api/status.js';
import {setProperty} from '#src/base/json/set-property.js';
import {copied, isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import {itemsOf, propertySchema, type JsonSchema} from '#src/schema/json-schema.js';

/**
 * The limit of what defaulting may add to one object, in characters of JSON. Differs from upstream, which has no limit.
 */
const maxDefaulted = 3 * 1024 * 1024;

const isMisplacedNull = (value: unknown, {nullable}: JsonSchema): boolean => value === null && !nullable;

const known = new WeakMap<JsonSchema, readonly (readonly [name: string, property: JsonSchema])[]>();

/**
 * Returns the properties of a schema that have defaults. Cached: it is called for every value, and most schemas have
 * few.
 */
const defaultsOf = (schema: JsonSchema): readonly (readonly [name: string, property: JsonSchema])[] => {
  let defaults = known.get(schema);
  if (!defaults)
    known.set(schema, (defaults = Object.entries(schema.properties ?? {}).filter(([, property]) => (property.default ?? null) !== null)));
  return defaults;
};

/** Applies the defaults of one object and counts what they add. */
class Defaulting {
  #added = 0;

  fill(value: unknown, schema: JsonSchema | undefined): void {
    if (!schema) return;
    if (Array.isArray(value)) this.#items(value, schema);
    else if (isPlainObject(value)) this.#fields(value, schema);
  }

  #items(items: unknown[], schema: JsonSchema): void {
    const item = itemsOf(schema);
    if (!item) return;
    for (let i = 0; i < items.length; i++) {
      if (isMisplacedNull(items[i], item)) items[i] = this.#copy(item.default ?? null);
      this.fill(items[i], item);
    }
  }

  #fields(value: PlainObject, schema: JsonSchema): void {
    for (const [name, property] of defaultsOf(schema)) {
      if (!Object.hasOwn(value, name) || isMisplacedNull(value[name], property)) setProperty(value, name, this.#copy(property.default));
    }
    for (const name of Object.keys(value)) {
      const property = propertySchema(schema, name);
      if (!property) continue;
      if (property === schema.additionalProperties && isMisplacedNull(value[name], property))
        setProperty(value, name, this.#copy(property.default ?? null));
      this.fill(value[name], property);
    }
  }

  #copy(value: unknown): unknown {
    this.#added += typeof value === 'string' ? value.length : jsonText(value).length;
    if (this.#added > maxDefaulted)
      throw entityTooLarge(`the defaults of the object's schema would add more than ${maxDefaulted} bytes to it`);
    return copied(value);
  }
}

/**
 * Applies the defaults of absent fields, and of nulls that are not nullable, at every existing level, in place. Throws
 * 413 if they add too much in total.
 */
export const applyDefaults = (value: unknown, schema: JsonSchema | undefined): void => new Defaulting().fill(value, schema);
