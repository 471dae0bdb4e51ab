import {runSteps, type Steps} from '#src/base/steps.js';
import {additionalOf, itemsOf, type JsonSchema} from '#src/schema/json-schema.js';

// What a schema uses anywhere: most objects need no defaults, rules or comparisons of items, and then nobody walks the
// schema for them. A large schema is surveyed once, in steps, before its first object.

/** What a schema, or a part of it that gives values their structure, uses. */
export interface SchemaFacts {
  readonly hasDefaults: boolean;
  readonly hasEmbedded: boolean;
  /** Lists whose items must differ. */
  readonly hasUnique: boolean;
  /** Validation rules, also those of `allOf`. */
  readonly hasRules: boolean;
}

const known = new WeakMap<JsonSchema, SchemaFacts>();

const ownFacts = (schema: JsonSchema): SchemaFacts => {
  const {'x-kubernetes-list-type': listType} = schema;
  return {
    hasDefaults: (schema.default ?? null) !== null,
    hasEmbedded: schema['x-kubernetes-embedded-resource'] === true,
    hasUnique: listType === 'set' || listType === 'map',
    hasRules: Boolean(schema['x-kubernetes-validations']?.length),
  };
};

const union = (a: SchemaFacts, b: SchemaFacts): SchemaFacts => ({
  hasDefaults: a.hasDefaults || b.hasDefaults,
  hasEmbedded: a.hasEmbedded || b.hasEmbedded,
  hasUnique: a.hasUnique || b.hasUnique,
  hasRules: a.hasRules || b.hasRules,
});

const isLeaf = ({properties, items, additionalProperties, allOf}: JsonSchema): boolean =>
  properties === undefined && items === undefined && typeof additionalProperties !== 'object' && allOf === undefined;

/** How many properties are surveyed in one step. */
const propertiesAtOnce = 256;

/** Surveys a schema in steps, so that a large one does not block the event loop. What was found is remembered. */
export const surveyed = function* (schema: JsonSchema): Steps<SchemaFacts> {
  const found = known.get(schema);
  if (found) return found;
  let facts = ownFacts(schema);
  for (const inner of [itemsOf(schema), additionalOf(schema)]) if (inner) facts = union(facts, yield* surveyed(inner));
  for (const inner of schema.allOf ?? []) facts = {...facts, hasRules: facts.hasRules || (yield* surveyed(inner)).hasRules};
  if (schema.properties) {
    const names = Object.keys(schema.properties);
    for (let at = 0; at < names.length; at++) {
      if (at % propertiesAtOnce === 0 && names.length > propertiesAtOnce) yield;
      const property = schema.properties[names[at]!]!;
      facts = union(facts, isLeaf(property) ? ownFacts(property) : yield* surveyed(property));
    }
  }
  known.set(schema, facts);
  return facts;
};

/** Returns what a schema uses anywhere. */
export const factsOf = (schema: JsonSchema): SchemaFacts => known.get(schema) ?? runSteps(surveyed(schema));
