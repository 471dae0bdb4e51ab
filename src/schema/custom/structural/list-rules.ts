import {forbiddenField, invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {extensions, itemsOf, type JsonSchema} from '#src/schema/json-schema.js';

// Validates the list and map types that a schema declares, when a definition is written.

const listTypes = ['atomic', 'set', 'map'];
const mapTypes = ['atomic', 'granular'];

function* typeOrNone(schema: JsonSchema, path: string, detail: string): Iterable<FieldError> {
  yield schema.type ? invalid(`${path}.type`, schema.type, detail) : required(`${path}.type`, detail);
}

function* validateMapType(schema: JsonSchema, path: string): Iterable<FieldError> {
  const mapType = schema[extensions.mapType];
  if (mapType === undefined) return;
  if (schema.type !== 'object') yield* typeOrNone(schema, path, `must be object if ${extensions.mapType} is specified`);
  if (!mapTypes.includes(mapType)) yield notSupported(`${path}.${extensions.mapType}`, mapType, mapTypes);
}

/** Returns why the items of a set are not scalars or atomic; undefined if they are. */
const granularItems = (schema: JsonSchema): string | undefined => {
  const items = schema[extensions.listType] === 'set' ? itemsOf(schema) : undefined;
  if (items?.type === 'array') return (items[extensions.listType] ?? 'atomic') === 'atomic' ? undefined : extensions.listType;
  return items?.type === 'object' && items[extensions.mapType] !== 'atomic' ? extensions.mapType : undefined;
};

/** Reports whether a schema is a set of granular items. */
export const hasGranularSet = (schema: JsonSchema): boolean => granularItems(schema) !== undefined;

function* validateMapItems(items: JsonSchema, keys: readonly string[], path: string): Iterable<FieldError> {
  const at = `${path}.${extensions.listMapKeys}`;
  const seen = new Set<string>();
  for (const key of keys) {
    const property = items.properties && Object.hasOwn(items.properties, key) ? items.properties[key] : undefined;
    if (!property) yield invalid(at, keys, 'entries must all be names of item properties');
    else if (property.type === 'array' || property.type === 'object') {
      yield invalid(
        `${path}.items.properties[${key}].type`,
        items.type,
        "must be a scalar type if parent array's x-kubernetes-list-type is map",
      );
    }
    if (seen.has(key)) yield invalid(at, keys, 'must not contain duplicate entries');
    seen.add(key);
  }
}

function* validateMapList(schema: JsonSchema, path: string): Iterable<FieldError> {
  const keys = schema[extensions.listMapKeys] ?? [];
  if (keys.length === 0) yield required(`${path}.${extensions.listMapKeys}`, `must not be empty if ${extensions.listType} is map`);
  if (schema.items === undefined) return yield required(`${path}.items`, `must have a schema if ${extensions.listType} is map`);
  const items = itemsOf(schema);
  if (!items) yield invalid(`${path}.items`, schema.items, `must only have a single schema if ${extensions.listType} is map`);
  else if (items.type !== 'object')
    yield invalid(`${path}.items.type`, items.type ?? '', `must be object if parent array's ${extensions.listType} is map`);
  else yield* validateMapItems(items, keys, path);
}

/**
 * Validates the list and map types of a schema. `loose` accepts sets of granular items, as stored definitions may have
 * them.
 */
export function* validateTopology(
  schema: JsonSchema,
  path: string,
  {loose: allowGranularSets}: {readonly loose: boolean},
): Iterable<FieldError> {
  yield* validateMapType(schema, path);
  const listType = schema[extensions.listType];
  const at = `${path}.${extensions.listType}`;
  if (listType !== undefined && schema.type !== 'array')
    yield* typeOrNone(schema, path, `must be array if ${extensions.listType} is specified`);
  else if (!allowGranularSets) {
    const items = itemsOf(schema);
    const field = granularItems(schema);
    // For maps, too, the original reports the list type.
    if (field)
      yield invalid(
        `${path}.items.${field}`,
        items?.[extensions.listType],
        'must be atomic as item of a list with x-kubernetes-list-type=set',
      );
  }
  if (listType !== undefined && !listTypes.includes(listType)) yield notSupported(at, listType, listTypes);
  if (schema[extensions.listMapKeys]?.length) {
    const detail = `must be map if ${extensions.listMapKeys} is non-empty`;
    if (listType === undefined) yield required(at, detail);
    else if (listType !== 'map') yield invalid(at, listType, detail);
  }
  if (listType === 'map') yield* validateMapList(schema, path);
}

/** Validates that items of sets and associative lists are declared, and that each item has its keys. */
export function* validateIdentity(schema: JsonSchema, path: string): Iterable<FieldError> {
  const items = itemsOf(schema);
  const listType = schema[extensions.listType];
  if (!items || (listType !== 'set' && listType !== 'map')) return;
  if (items.nullable) yield forbiddenField(`${path}.items.nullable`, `cannot be nullable when ${extensions.listType} is ${listType}`);
  if (listType === 'set') return;
  for (const key of schema[extensions.listMapKeys] ?? []) {
    const property = items.properties && Object.hasOwn(items.properties, key) ? items.properties[key] : undefined;
    if (!property) continue;
    const at = `${path}.items.properties[${key}]`;
    if (!items.required?.includes(key) && (property.default === undefined || property.default === null)) {
      yield required(`${at}.default`, `this property is in ${extensions.listMapKeys}, so it must have a default or be a required property`);
    }
    if (property.nullable)
      yield forbiddenField(`${at}.nullable`, `this property is in ${extensions.listMapKeys}, so it cannot be nullable`);
  }
}
