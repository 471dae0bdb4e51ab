// The type of a custom resource's schema, and access to its parts.

/**
 * The schema of a custom resource as its definition writes it (the API reference, apiextensions/v1 JSONSchemaProps).
 * Definitions are validated before any other module reads their schemas; a stored one can be trusted to have this
 * shape.
 */
export interface JsonSchema {
  readonly id?: string;
  readonly $schema?: string;
  readonly $ref?: string;
  readonly description?: string;
  readonly type?: string;
  readonly nullable?: boolean;
  readonly format?: string;
  readonly title?: string;
  readonly default?: unknown;
  readonly maximum?: number;
  readonly exclusiveMaximum?: boolean;
  readonly minimum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly maxLength?: number;
  readonly minLength?: number;
  readonly pattern?: string;
  readonly maxItems?: number;
  readonly minItems?: number;
  readonly uniqueItems?: boolean;
  readonly multipleOf?: number;
  readonly enum?: readonly unknown[];
  readonly maxProperties?: number;
  readonly minProperties?: number;
  readonly required?: readonly string[];
  /** A list of schemas is parsed, and rejected by validation. */
  readonly items?: JsonSchema | readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly not?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>;
  readonly dependencies?: Readonly<Record<string, JsonSchema | readonly string[]>>;
  readonly additionalItems?: JsonSchema | boolean;
  readonly definitions?: Readonly<Record<string, JsonSchema>>;
  readonly externalDocs?: {readonly description?: string; readonly url?: string};
  readonly example?: unknown;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-embedded-resource'?: boolean;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-map-type'?: string;
  readonly 'x-kubernetes-validations'?: readonly ValidationRule[];
}

/** A validation rule in CEL (the API reference, apiextensions/v1 ValidationRule). */
export interface ValidationRule {
  readonly rule?: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

/** The names of the vendor extensions, the same in every naming. */
export const extensions = {
  preserveUnknownFields: 'x-kubernetes-preserve-unknown-fields',
  embeddedResource: 'x-kubernetes-embedded-resource',
  intOrString: 'x-kubernetes-int-or-string',
  listMapKeys: 'x-kubernetes-list-map-keys',
  listType: 'x-kubernetes-list-type',
  mapType: 'x-kubernetes-map-type',
  validations: 'x-kubernetes-validations',
} as const;

/** Returns the single schema of a list's items; undefined if there is none or a list of schemas. */
export const itemsOf = ({items}: JsonSchema): JsonSchema | undefined =>
  items === undefined || Array.isArray(items) ? undefined : (items as JsonSchema);

/** Returns the schemas of a list's items that are written as a list. */
export const itemListOf = ({items}: JsonSchema): readonly JsonSchema[] => (Array.isArray(items) ? (items as readonly JsonSchema[]) : []);

/** Returns the schema of a map's values; undefined for a boolean. */
export const additionalOf = ({additionalProperties: additional}: JsonSchema): JsonSchema | undefined =>
  typeof additional === 'object' ? additional : undefined;

/** Returns a schema's properties, sorted by name. */
export const propertiesOf = ({properties}: Pick<JsonSchema, 'properties'>): [string, JsonSchema][] => sorted(properties);

const sorted = <T>(record: Readonly<Record<string, T>> | undefined): [string, T][] =>
  record
    ? Object.keys(record)
        .sort()
        .map(key => [key, record[key]!])
    : [];

const all = (record: Readonly<Record<string, JsonSchema>> | undefined): readonly JsonSchema[] => (record ? Object.values(record) : []);

/** Reports whether `isSo` holds for a schema or one nested in it at any depth. */
export const someSchema = (schema: JsonSchema | undefined, isSo: (schema: JsonSchema) => boolean): boolean => {
  if (!schema) return false;
  if (isSo(schema)) return true;
  const some = (inner: JsonSchema | undefined): boolean => someSchema(inner, isSo);
  return (
    some(itemsOf(schema)) ||
    itemListOf(schema).some(some) ||
    [schema.allOf, schema.anyOf, schema.oneOf].some(list => list?.some(some)) ||
    some(schema.not) ||
    all(schema.properties).some(some) ||
    some(additionalOf(schema)) ||
    all(schema.patternProperties).some(some) ||
    (typeof schema.additionalItems === 'object' && some(schema.additionalItems)) ||
    all(schema.definitions).some(some) ||
    Object.values(schema.dependencies ?? {}).some(dependency => !Array.isArray(dependency) && some(dependency as JsonSchema))
  );
};

/** Returns the schema of a field or map key; undefined if it is not declared. */
export const propertySchema = ({properties, additionalProperties}: JsonSchema, name: string): JsonSchema | undefined => {
  if (properties && Object.hasOwn(properties, name)) return properties[name];
  return typeof additionalProperties === 'object' ? additionalProperties : undefined;
};
