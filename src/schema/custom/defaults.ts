import {copied, isPlainObject, put} from '#src/schema/decode/plain.js';
import {itemsOf, propertySchema, type JsonSchema} from './json-schema.js';

const isMisplacedNull = (value: unknown, {nullable}: JsonSchema): boolean => value === null && !nullable;

/** Fills in the defaults of fields that are absent, or null without leave, at every depth that is there. */
export const applyDefaults = (value: unknown, schema: JsonSchema | undefined): void => {
  if (!schema) return;
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    if (!items) return;
    for (let i = 0; i < value.length; i++) {
      if (isMisplacedNull(value[i], items)) value[i] = copied(items.default ?? null);
      applyDefaults(value[i], items);
    }
    return;
  }
  if (!isPlainObject(value)) return;
  const {properties} = schema;
  if (properties) {
    for (const name of Object.keys(properties)) {
      const property = properties[name]!;
      if ((property.default ?? null) === null) continue;
      if (!Object.hasOwn(value, name) || isMisplacedNull(value[name], property)) put(value, name, copied(property.default));
    }
  }
  for (const name of Object.keys(value)) {
    const known = propertySchema(schema, name);
    if (!known) continue;
    if (known === schema.additionalProperties && isMisplacedNull(value[name], known)) put(value, name, copied(known.default ?? null));
    applyDefaults(value[name], known);
  }
};
