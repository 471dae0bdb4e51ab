import {sameJson} from '#src/api/equal.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import {itemsOf, propertySchema, type JsonSchema} from './json-schema.js';

const isScalar = (value: unknown): boolean => typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';

/** The key of an item of a keyed list; undefined for one without. */
const keyOf = (item: unknown, names: readonly string[]): string | undefined => {
  if (!isPlainObject(item) || !names.every(name => Object.hasOwn(item, name) && isScalar(item[name]))) return undefined;
  return JSON.stringify(names.map(name => item[name]));
};

const keyed = (items: readonly unknown[], names: readonly string[]): Map<string, unknown> => {
  const found = new Map<string, unknown>();
  for (const item of items) {
    const key = keyOf(item, names);
    if (key !== undefined && !found.has(key)) found.set(key, item);
  }
  return found;
};

/** A value and what it was before, as far as the schema lets tell: fields by their names, items of keyed lists by their keys. */
export class Correlated {
  readonly #value: unknown;
  readonly #before: unknown;
  readonly #schema: JsonSchema;
  #items: Map<string, unknown> | undefined;
  #children: Map<string | number, Correlated | undefined> | undefined;
  #same: boolean | undefined;

  constructor(value: unknown, before: unknown, schema: JsonSchema) {
    this.#value = value;
    this.#before = before;
    this.#schema = schema;
  }

  key(name: string): Correlated | undefined {
    return this.#child(name, () => {
      const [value, before] = [this.#value, this.#before];
      const schema = propertySchema(this.#schema, name);
      if (!schema || !isPlainObject(value) || !isPlainObject(before) || !Object.hasOwn(value, name) || !Object.hasOwn(before, name)) return undefined;
      return new Correlated(value[name], before[name], schema);
    });
  }

  index(at: number): Correlated | undefined {
    const {type, 'x-kubernetes-list-type': listType, 'x-kubernetes-list-map-keys': names} = this.#schema;
    const items = itemsOf(this.#schema);
    if (listType !== 'map' || type !== 'array' || !items || !names?.length) return undefined;
    return this.#child(at, () => {
      const [value, before] = [this.#value, this.#before];
      if (!Array.isArray(value) || !Array.isArray(before)) return undefined;
      const key = keyOf(value[at], names);
      const old = key === undefined ? undefined : (this.#items ??= keyed(before, names)).get(key);
      return old === undefined ? undefined : new Correlated(value[at], old, items);
    });
  }

  #child(name: string | number, make: () => Correlated | undefined): Correlated | undefined {
    const children = (this.#children ??= new Map());
    if (!children.has(name)) children.set(name, make());
    return children.get(name);
  }

  /** Whether nothing has changed. Items of keyed lists may have changed places; what the schema does not know counts as changed. */
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
    return names.length === Object.keys(before).length && names.every(name => this.key(name)?.same() ?? false);
  }
}
