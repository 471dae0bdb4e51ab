import {duplicate, invalid, type FieldError} from '#src/api/field-error.js';
import {maxErrors} from '#src/api/collect-errors.js';
import {identity, inKeyOrder} from '#src/base/json/canonical-json.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import {itemsOf, type JsonSchema} from '#src/schema/json-schema.js';

/** Adds an error unless the limit is reached. */
const report = (errors: FieldError[], error: () => FieldError): void => {
  if (errors.length <= maxErrors) errors.push(error());
};

/** Returns the indexes of duplicate values, of each value the second one only. */
const repeated = (values: readonly unknown[]): number[] => {
  const seen = new Map<unknown, number>();
  const places: number[] = [];
  for (let at = 0; at < values.length; at++) {
    const times = seen.get(values[at]) ?? 0;
    seen.set(values[at], times + 1);
    if (times === 1) places.push(at);
  }
  return places;
};

const keysOf = (item: unknown, names: readonly string[]): PlainObject =>
  Object.fromEntries(names.flatMap(name => (isPlainObject(item) && Object.hasOwn(item, name) ? [[name, item[name]]] : [])));

const keyedList = (items: readonly unknown[], names: readonly string[], path: string, errors: FieldError[]): void => {
  const nonObject = items.findIndex(item => item !== null && !isPlainObject(item));
  if (nonObject !== -1) {
    report(errors, () => invalid(`${path}[${nonObject}]`, items[nonObject], 'must be an object for an array of list-type map'));
    return;
  }
  const [name] = names;
  // Most lists have a single text key.
  const keys = items.map(item => {
    const key = names.length === 1 && isPlainObject(item) ? item[name!] : undefined;
    return typeof key === 'string' ? key : identity(keysOf(item, names));
  });
  for (const at of repeated(keys)) report(errors, () => duplicate(`${path}[${at}]`, inKeyOrder(keysOf(items[at], names))));
};

const list = (items: readonly unknown[], schema: JsonSchema, path: string, errors: FieldError[]): void => {
  const {'x-kubernetes-list-type': type, 'x-kubernetes-list-map-keys': names} = schema;
  if (type === 'set')
    for (const at of repeated(items.map(identity))) report(errors, () => duplicate(`${path}[${at}]`, inKeyOrder(items[at])));
  if (type === 'map') keyedList(items, names ?? [], path, errors);
  const inner = itemsOf(schema);
  if (inner) for (let at = 0; at < items.length; at++) if (typeof items[at] === 'object') walk(items[at], inner, `${path}[${at}]`, errors);
};

const walk = (value: unknown, schema: JsonSchema, path: string, errors: FieldError[]): void => {
  if (Array.isArray(value)) return list(value, schema, path, errors);
  if (!isPlainObject(value)) return;
  const {properties, additionalProperties} = schema;
  for (const name of Object.keys(value)) {
    if (typeof value[name] !== 'object') continue;
    if (typeof additionalProperties === 'object') walk(value[name], additionalProperties, `${path}[${name}]`, errors);
    if (properties && Object.hasOwn(properties, name)) walk(value[name], properties[name]!, path === '' ? name : `${path}.${name}`, errors);
  }
};

/** Reports duplicate items of sets and associative lists. */
export const uniqueItems = (value: unknown, schema: JsonSchema): FieldError[] => {
  const errors: FieldError[] = [];
  walk(value, schema, '', errors);
  return errors;
};
