import {additionalOf, itemsOf, propertiesOf, type JsonSchema} from '#src/schema/json-schema.js';

const known = new WeakMap<JsonSchema, boolean>();

/** Reports whether a schema has rules at any depth. */
export const hasRules = (schema: JsonSchema): boolean => {
  let found = known.get(schema);
  if (found === undefined) {
    const inner = [itemsOf(schema), additionalOf(schema), ...propertiesOf(schema).map(([, property]) => property), ...(schema.allOf ?? [])];
    known.set(
      schema,
      (found = Boolean(schema['x-kubernetes-validations']?.length) || inner.some(part => part !== undefined && hasRules(part))),
    );
  }
  return found;
};
