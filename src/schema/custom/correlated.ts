// Correlates the values of an object with those before an update, for validation ratcheting and transition rules
// (KEP-4008).

import {jsonText} from '#src/base/json/json.js';
import {sameJson} from '#src/api/equal.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import {itemsOf, propertySchema, type JsonSchema} from '#src/schema/json-schema.js';

const isScalar = (value: unknown): boolean =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean';

/**
 * Returns the key of an associative list's item: a scalar, or one text for several keys; undefined if the item has
 * none.
 */
const keyOf = (item: unknown, names: readonly string[]): unknown => {
  if (!isPlainObject(item) || !names.every(name => Object.hasOwn(item, name) && isScalar(item[name]))) return undefined;
  return names.length === 1 ? item[names[0]!] : jsonText(names.map(name => item[name]));
};

const keyed = (items: readonly unknown[], names: readonly string[]): Map<unknown, unknown> => {
  const found = new Map<unknown, unknown>();
  for (const item of items) {
    const key = keyOf(item, names);
    if (key !== undefined && !found.has(key)) found.set(key, item);
  }
  return found;
};

/**
 * A value and its previous value, correlated as far as the schema allows: fields by name, items of associative lists by
 * key.
 */
export class Correlated {
  readonly #value: unknown;
  readonly #before: unknown;
  readonly #schema: JsonSchema;
  #byKey: Map<unknown, unknown> | undefined;
  #items: (Correlated | null)[] | undefined;
  #fields: Map<string, Correlated | null> | undefined;
  #same: boolean | undefined;

  constructor(value: unknown, before: unknown, schema: JsonSchema) {
    this.#value = value;
    this.#before = before;
    this.#schema = schema;
  }

  key(name: string): Correlated | undefined {
    const fields: Map<string, Correlated | null> = (this.#fields ??= new Map());
    let field = fields.get(name);
    if (field === undefined) fields.set(name, (field = this.#field(name) ?? null));
    return field ?? undefined;
  }

  #field(name: string): Correlated | undefined {
    const [value, before] = [this.#value, this.#before];
    const schema = propertySchema(this.#schema, name);
    if (!schema || !isPlainObject(value) || !isPlainObject(before) || !Object.hasOwn(value, name) || !Object.hasOwn(before, name))
      return undefined;
    return new Correlated(value[name], before[name], schema);
  }

  index(at: number): Correlated | undefined {
    const {type, 'x-kubernetes-list-type': listType, 'x-kubernetes-list-map-keys': names} = this.#schema;
    if (listType !== 'map' || type !== 'array' || !names?.length || !Array.isArray(this.#value) || !Array.isArray(this.#before))
      return undefined;
    const items: (Correlated | null)[] = (this.#items ??= []);
    let item = items[at];
    if (item === undefined) items[at] = item = this.#item(this.#value[at], this.#before, names) ?? null;
    return item ?? undefined;
  }

  #item(value: unknown, before: readonly unknown[], names: readonly string[]): Correlated | undefined {
    const schema = itemsOf(this.#schema);
    const key = schema && keyOf(value, names);
    const old = key === undefined ? undefined : (this.#byKey ??= keyed(before, names)).get(key);
    return schema && old !== undefined ? new Correlated(value, old, schema) : undefined;
  }

  /**
   * Reports whether the value is unchanged. Items of associative lists may be reordered; fields unknown to the schema
   * count as changed.
   */
  same(): boolean {
    return (this.#same ??= this.#compared());
  }

  #compared(): boolean {
    const [value, before] = [this.#value, this.#before];
    if (Array.isArray(value) && Array.isArray(before)) return this.#sameItems(value, before);
    if (isPlainObject(value) && isPlainObject(before)) return this.#sameFields(value, before);
    return sameJson(value ?? null, before ?? null);
  }

  #sameItems(value: readonly unknown[], before: readonly unknown[]): boolean {
    if (value.length !== before.length) return false;
    if (this.#schema['x-kubernetes-list-type'] !== 'map') return sameJson(value, before);
    return value.every((_, at) => this.index(at)?.same() ?? false);
  }

  #sameFields(value: PlainObject, before: PlainObject): boolean {
    const names = Object.keys(value);
    if (names.length !== Object.keys(before).length) return false;
    return names.every(name => {
      const one = value[name];
      if (typeof one === 'object' && one !== null) return this.key(name)?.same() ?? false;
      return Object.hasOwn(before, name) && one === before[name] && propertySchema(this.#schema, name) !== undefined;
    });
  }
}
