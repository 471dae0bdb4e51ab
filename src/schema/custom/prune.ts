import {maxErrors, maxErrorText} from '#src/api/collect-errors.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import {itemsOf, propertySchema, type JsonSchema} from '#src/schema/json-schema.js';

// Removes what a schema does not declare: undeclared fields, and nulls that are not allowed.

/** The fields of every whole object, which its schema need not declare. */
const objectFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/** Removes undeclared fields from values. `dropped` collects the paths, up to the number that is reported. */
class Pruner {
  readonly dropped: string[] = [];
  #text = 0;

  prune(value: unknown, schema: JsonSchema | undefined, path: string): void {
    if (schema?.['x-kubernetes-preserve-unknown-fields']) this.#keepUnknown(value, schema, path);
    else if (Array.isArray(value)) this.#items(value, path, (item, inner) => this.prune(item, schema && itemsOf(schema), inner));
    else if (isPlainObject(value)) this.#fields(value, schema, path, schema?.['x-kubernetes-embedded-resource'] ?? false);
  }

  /** Prunes a whole object; its own fields stay. */
  root(object: PlainObject, schema: JsonSchema): void {
    if (schema['x-kubernetes-preserve-unknown-fields']) this.#known(object, schema, '', true);
    else this.#fields(object, schema, '', true);
  }

  #fields(object: PlainObject, schema: JsonSchema | undefined, path: string, isWhole: boolean): void {
    for (const name of Object.keys(object)) {
      if (isWhole && objectFields.has(name)) continue;
      const inner = path === '' ? name : `${path}.${name}`;
      const known = schema && propertySchema(schema, name);
      if (known || typeof schema?.additionalProperties === 'boolean') this.prune(object[name], known, inner);
      else {
        delete object[name];
        this.#reportDropped(inner);
      }
    }
  }

  /** Keeps undeclared fields; declared ones below may prune again. */
  #keepUnknown(value: unknown, schema: JsonSchema | undefined, path: string): void {
    if (!schema) return;
    if (Array.isArray(value)) this.#items(value, path, (item, inner) => this.#keepUnknown(item, itemsOf(schema), inner));
    else if (isPlainObject(value)) this.#known(value, schema, path, schema['x-kubernetes-embedded-resource'] ?? false);
  }

  #known(object: PlainObject, schema: JsonSchema, path: string, isWhole: boolean): void {
    for (const name of Object.keys(object)) {
      if (isWhole && objectFields.has(name)) continue;
      const known = propertySchema(schema, name);
      if (known || typeof schema.additionalProperties === 'boolean')
        this.prune(object[name], known, path === '' ? name : `${path}.${name}`);
    }
  }

  /** Paths are kept as ropes until they are read, so that long paths of many fields are never written out. */
  #reportDropped(path: string): void {
    if (this.dropped.length >= maxErrors || this.#text >= maxErrorText) return;
    this.dropped.push(path);
    this.#text += path.length;
  }

  #items(items: readonly unknown[], path: string, each: (item: unknown, path: string) => void): void {
    for (let i = 0; i < items.length; i++) each(items[i], `${path}[${i}]`);
  }
}

/**
 * Removes undeclared fields from an object, including embedded objects. Returns the paths of the first thousand,
 * sorted.
 */
export const prune = (object: PlainObject, schema: JsonSchema): string[] => {
  const pruner = new Pruner();
  pruner.root(object, schema);
  return pruner.dropped.sort();
};

/** Removes nulls of fields that are not nullable and have no default. */
export const dropNulls = (value: unknown, schema: JsonSchema | undefined): void => {
  if (!schema) return;
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    for (const item of value) if (typeof item === 'object') dropNulls(item, items);
    return;
  }
  if (!isPlainObject(value)) return;
  for (const name of Object.keys(value)) {
    const known = propertySchema(schema, name);
    if (!known) continue;
    if (value[name] === null && !known.nullable && (known.default ?? null) === null) delete value[name];
    else if (typeof value[name] === 'object') dropNulls(value[name], known);
  }
};
