import {duplicate, invalid, type FieldError} from '#src/api/field-error.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import {itemsOf, type JsonSchema} from './json-schema.js';

/** JSON whose keys are sorted, so that equal values have equal texts. */
export const canonicalJson = (value: unknown): string => {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  return `{${Object.keys(value)
    .sort()
    .map(key => `${JSON.stringify(key)}:${canonicalJson((value as PlainObject)[key])}`)
    .join(',')}}`;
};

/** The places of values that were there before: of each value the second one. */
function* repeated(texts: readonly string[]): Iterable<number> {
  const seen = new Map<string, number>();
  for (const [at, text] of texts.entries()) {
    const times = seen.get(text) ?? 0;
    seen.set(text, times + 1);
    if (times === 1) yield at;
  }
}

const keysOf = (item: unknown, names: readonly string[]): PlainObject =>
  Object.fromEntries(names.flatMap(name => (isPlainObject(item) && Object.hasOwn(item, name) ? [[name, item[name]]] : [])));

function* keyedList(items: readonly unknown[], names: readonly string[], path: string): Iterable<FieldError> {
  const stranger = items.findIndex(item => item !== null && !isPlainObject(item));
  if (stranger !== -1) {
    yield invalid(`${path}[${stranger}]`, items[stranger], 'must be an object for an array of list-type map');
    return;
  }
  const keys = items.map(item => keysOf(item, names));
  for (const at of repeated(keys.map(canonicalJson))) yield duplicate(`${path}[${at}]`, keys[at]);
}

function* list(items: readonly unknown[], schema: JsonSchema, path: string): Iterable<FieldError> {
  const {'x-kubernetes-list-type': type, 'x-kubernetes-list-map-keys': names} = schema;
  const inner = itemsOf(schema);
  if (type === 'set') for (const at of repeated(items.map(canonicalJson))) yield duplicate(`${path}[${at}]`, items[at]);
  if (type === 'map') yield* keyedList(items, names ?? [], path);
  if (inner) for (const [at, item] of items.entries()) yield* uniqueItems(item, inner, `${path}[${at}]`);
}

/** What is wrong with the items of sets and keyed lists: each may be there once. */
export function* uniqueItems(value: unknown, schema: JsonSchema, path = ''): Iterable<FieldError> {
  if (Array.isArray(value)) yield* list(value, schema, path);
  if (!isPlainObject(value)) return;
  const {properties, additionalProperties} = schema;
  for (const name of Object.keys(value)) {
    const inner = properties && Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (typeof additionalProperties === 'object') yield* uniqueItems(value[name], additionalProperties, `${path}[${name}]`);
    if (inner) yield* uniqueItems(value[name], inner, path === '' ? name : `${path}.${name}`);
  }
}
