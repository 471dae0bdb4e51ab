import {additionalOf, itemListOf, itemsOf, type JsonSchema, type ValidationRule} from '#src/schema/json-schema.js';
import type {PrinterColumn, SelectableField, Subresources} from './types.js';
import {schemaOf, type OwnVersion} from './versions.js';

// Error texts of a few rules show values as the original's internal types: fields in another order, each one present.
// These functions build that form.

const listed = <In, Out>(list: readonly In[] | undefined, form: (one: In) => Out): Out[] | null =>
  list && list.length > 0 ? list.map(form) : null;
/** Does the same for a list that is also shown when empty. */
const each = <In, Out>(list: readonly In[] | undefined, form: (one: In) => Out): Out[] | null => list?.map(form) ?? null;
const mapped = (record: Readonly<Record<string, JsonSchema>> | undefined): Record<string, unknown> | null =>
  record
    ? Object.fromEntries(
        Object.keys(record)
          .sort()
          .map(key => [key, internalSchema(record[key]!)]),
      )
    : null;
const orBoolean = (value: JsonSchema | boolean | undefined): unknown =>
  value === undefined ? null : typeof value === 'boolean' ? {Allows: value, Schema: null} : {Allows: true, Schema: internalSchema(value)};

const dependencyForms = ({dependencies}: JsonSchema): unknown =>
  dependencies
    ? Object.fromEntries(
        Object.keys(dependencies)
          .sort()
          .map(key => {
            const one = dependencies[key]!;
            return [key, Array.isArray(one) ? {Schema: null, Property: one} : {Schema: internalSchema(one as JsonSchema), Property: null}];
          }),
      )
    : null;

/** Returns a rule as error texts show it. */
export const internalRule = (rule: ValidationRule): Record<string, unknown> => ({
  Rule: rule.rule ?? '',
  Message: rule.message ?? '',
  MessageExpression: rule.messageExpression ?? '',
  Reason: rule.reason ?? null,
  FieldPath: rule.fieldPath ?? '',
  OptionalOldSelf: rule.optionalOldSelf ?? null,
});

/** Returns a schema as error texts show it. */
export const internalSchema = (schema: JsonSchema): Record<string, unknown> => {
  const items = itemsOf(schema);
  return {
    ID: schema.id ?? '',
    Schema: schema.$schema ?? '',
    Ref: schema.$ref ?? null,
    Description: schema.description ?? '',
    Type: schema.type ?? '',
    Nullable: schema.nullable ?? false,
    Format: schema.format ?? '',
    Title: schema.title ?? '',
    Default: schema.default ?? null,
    Maximum: schema.maximum ?? null,
    ExclusiveMaximum: schema.exclusiveMaximum ?? false,
    Minimum: schema.minimum ?? null,
    ExclusiveMinimum: schema.exclusiveMinimum ?? false,
    MaxLength: schema.maxLength ?? null,
    MinLength: schema.minLength ?? null,
    Pattern: schema.pattern ?? '',
    MaxItems: schema.maxItems ?? null,
    MinItems: schema.minItems ?? null,
    UniqueItems: schema.uniqueItems ?? false,
    MultipleOf: schema.multipleOf ?? null,
    Enum: each(schema.enum, value => value),
    MaxProperties: schema.maxProperties ?? null,
    MinProperties: schema.minProperties ?? null,
    Required: each(schema.required, name => name),
    Items:
      schema.items === undefined
        ? null
        : {
            Schema: items ? internalSchema(items) : null,
            JSONSchemas: Array.isArray(schema.items) ? each(itemListOf(schema), internalSchema) : null,
          },
    AllOf: each(schema.allOf, internalSchema),
    OneOf: each(schema.oneOf, internalSchema),
    AnyOf: each(schema.anyOf, internalSchema),
    Not: schema.not ? internalSchema(schema.not) : null,
    Properties: mapped(schema.properties),
    AdditionalProperties: orBoolean(additionalOf(schema) ?? schema.additionalProperties),
    PatternProperties: mapped(schema.patternProperties),
    Dependencies: dependencyForms(schema),
    AdditionalItems: orBoolean(schema.additionalItems),
    Definitions: mapped(schema.definitions),
    ExternalDocs: schema.externalDocs ? {Description: schema.externalDocs.description ?? '', URL: schema.externalDocs.url ?? ''} : null,
    Example: schema.example ?? null,
    XPreserveUnknownFields: schema['x-kubernetes-preserve-unknown-fields'] ?? null,
    XEmbeddedResource: schema['x-kubernetes-embedded-resource'] ?? false,
    XIntOrString: schema['x-kubernetes-int-or-string'] ?? false,
    XListMapKeys: each(schema['x-kubernetes-list-map-keys'], key => key),
    XListType: schema['x-kubernetes-list-type'] ?? null,
    XMapType: schema['x-kubernetes-map-type'] ?? null,
    XValidations: each(schema['x-kubernetes-validations'], internalRule),
  };
};

const columnForm = (column: PrinterColumn) => ({
  Name: column.name,
  Type: column.type,
  Format: column.format ?? '',
  Description: column.description ?? '',
  Priority: column.priority ?? 0,
  JSONPath: column.jsonPath,
});

const subresourcesForm = ({status, scale}: Subresources) => ({
  Status: status ? {} : null,
  Scale: scale
    ? {
        SpecReplicasPath: scale.specReplicasPath,
        StatusReplicasPath: scale.statusReplicasPath,
        LabelSelectorPath: scale.labelSelectorPath ?? null,
      }
    : null,
});

/** Returns versions as error texts show them, without the fields that all of them share. */
export const internalVersions = (versions: readonly OwnVersion[]): Record<string, unknown>[] | null =>
  listed(versions, version => {
    const schema = schemaOf(version);
    return {
      Name: version.name,
      Served: version.served,
      Storage: version.storage,
      Deprecated: version.deprecated,
      DeprecationWarning: version.deprecationWarning ?? null,
      Schema: version.schema ? {OpenAPIV3Schema: schema ? internalSchema(schema) : null} : null,
      Subresources: version.subresources ? subresourcesForm(version.subresources) : null,
      AdditionalPrinterColumns: listed(version.additionalPrinterColumns, columnForm),
      SelectableFields: listed(version.selectableFields, ({jsonPath}: SelectableField) => ({JSONPath: jsonPath})),
    };
  });
