import type {Findings} from '#src/api/collect-errors.js';
import {invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {dnsLabel1035Problems, dnsSubdomainProblems} from '#src/api/names.js';
import {internalList} from '#src/schema/error-texts/internal-form.js';
import {someSchema, type JsonSchema} from '#src/schema/json-schema.js';
import {validateConversion} from './conversion.js';
import type {Ratcheting} from './ratcheting.js';
import {requireNames, validateNames} from './names.js';
import {internalVersions} from './internal-form.js';
import {validateColumn, validateSelectableFields, validateSubresources} from './presentation.js';
import {validateSchema} from './schema.js';
import type {Spec} from './types.js';
import {
  hoistShared,
  schemaOf,
  schemasOf,
  withEmptyKeywords,
  type HoistedVersions,
  type OwnVersion,
  type VersionFields,
} from './versions.js';

const scopes = ['Cluster', 'Namespaced'];

function* validateGroup(group: string, path: string): Iterable<FieldError> {
  if (group === '') return yield required(path);
  const problems = dnsSubdomainProblems(group);
  if (problems.length > 0) yield invalid(path, group, problems.join(','));
  else if (!group.includes('.')) yield invalid(path, group, 'should be a domain with at least one dot');
}

function* validateScope(scope: string, path: string): Iterable<FieldError> {
  if (scope === '') yield required(path);
  else if (!scopes.includes(scope)) yield notSupported(path, scope, scopes);
}

function* validateDeprecation({deprecated, deprecationWarning: text}: OwnVersion, path: string): Iterable<FieldError> {
  if (text === undefined) return;
  const wrong = (detail: string) => invalid(path, text, detail);
  if (!deprecated) return yield wrong('can only be set for deprecated versions');
  if (Buffer.byteLength(text) > 256) yield wrong('must be <= 256 characters long');
  if (text === '') yield wrong('must not be an empty string');
  const odd = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.exec(text);
  if (odd)
    yield wrong(
      `must only contain printable UTF-8 characters; non-printable character found at index ${Buffer.byteLength(text.slice(0, odd.index))}`,
    );
}

/** Validates the rules of a version's schema. */
export type RuleValidation = (
  schema: JsonSchema,
  path: string,
  context: {readonly version: string; readonly problems: readonly FieldError[]},
) => Findings;

interface VersionContext {
  /** Undefined if there are no rules, or they did not change. */
  readonly rules: RuleValidation | undefined;
  /** The name of the version, or of the first if all share the fields. */
  readonly version: string;
  readonly hasStatus: boolean;
  readonly ratcheting: Ratcheting;
  readonly preservesUnknown: boolean;
  readonly anyNumberSelectable: boolean;
  readonly schemaPath: string;
}

/** Validates schema, subresources, columns and selectable fields of one version, or of all if they share them. */
function* validateVersionFields(fields: VersionFields, context: VersionContext, path: string): Findings {
  const schema = schemaOf(fields);
  const {rules, version} = context;
  const validateRules =
    rules && ((given: JsonSchema, at: string, problems: readonly FieldError[]) => rules(given, at, {version, problems}));
  if (schema) yield* validateSchema(schema, {...context, validateRules}, context.schemaPath);
  if (fields.subresources) yield* validateSubresources(fields.subresources, `${path}.subresources`);
  for (const [i, column] of (fields.additionalPrinterColumns ?? []).entries())
    yield* validateColumn(column, `${path}.additionalPrinterColumns[${i}]`);
  if (!fields.selectableFields?.length) return;
  const at = `${path}.selectableFields`;
  if (schema) yield* validateSelectableFields(fields.selectableFields, schema, context.anyNumberSelectable, at);
  else
    yield invalid(
      at,
      '',
      path === 'spec'
        ? 'may only be set when validations.schema is included'
        : 'may only be set when `version.schema.openAPIV3Schema` is not included',
    );
}

/** Validates that schemas are present where they are required. */
function* requireSchemas({shared, versions}: HoistedVersions, ratcheting: Ratcheting, preservesUnknown: boolean): Iterable<FieldError> {
  if (schemaOf(shared)) return;
  for (const [i, version] of versions.entries()) {
    if (schemaOf(version)) continue;
    const path = `spec.versions[${i}].schema.openAPIV3Schema`;
    if (!ratcheting.noSchema) yield required(path);
    else if (!preservesUnknown && version.served) yield required(path, 'because otherwise all fields are pruned');
  }
}

function* validateVersions(
  {shared, versions}: HoistedVersions,
  given: unknown,
  context: Omit<VersionContext, 'hasStatus' | 'schemaPath' | 'anyNumberSelectable' | 'version'>,
): Findings {
  for (const [i, version] of versions.entries()) {
    const path = `spec.versions[${i}]`;
    const problems = dnsLabel1035Problems(version.name);
    if (problems.length > 0) yield invalid(`${path}.name`, version.name, problems.join(','));
    yield* validateDeprecation(version, `${path}.deprecationWarning`);
    const hasStatus = Boolean((version.subresources ?? shared.subresources)?.status);
    yield* validateVersionFields(
      version,
      {
        ...context,
        version: version.name,
        hasStatus,
        anyNumberSelectable: context.ratcheting.tooManySelectable.has(version.name),
        schemaPath: `${path}.schema.openAPIV3Schema`,
      },
      path,
    );
  }
  const invalidVersions = (detail: string): FieldError =>
    invalid('spec.versions', versions.length > 0 ? internalVersions(versions) : given, detail);
  if (new Set(versions.map(({name}) => name)).size < versions.length) yield invalidVersions('must contain unique version names');
  if (versions.filter(({storage}) => storage).length !== 1)
    yield invalidVersions('must have exactly one version marked as storage version');
  const first = versions[0]?.name ?? '';
  const firstProblems = first ? dnsLabel1035Problems(first) : [];
  if (firstProblems.length > 0) yield invalid('spec.version', first, firstProblems.join(','));
}

export interface SpecContext {
  readonly ratcheting: Ratcheting;
  readonly rules: RuleValidation | undefined;
}

/** Validates the spec. Errors have the paths of the original's internal form of definitions. */
export function* validateSpec(spec: Readonly<Spec>, {ratcheting, rules}: SpecContext): Findings {
  const all = hoistShared(withEmptyKeywords(spec));
  const {shared, versions} = all;
  const preservesUnknown = spec.preserveUnknownFields === true;
  yield* validateGroup(spec.group ?? '', 'spec.group');
  yield* validateScope(spec.scope ?? '', 'spec.scope');
  yield* requireSchemas(all, ratcheting, preservesUnknown);
  if (preservesUnknown && schemasOf(spec).some(schema => someSchema(schema, one => one.default !== undefined))) {
    yield invalid('spec.preserveUnknownFields', true, 'must be false in order to use defaults in the schema');
  }
  const context = {ratcheting, preservesUnknown, rules};
  yield* validateVersions(all, internalList(spec, 'versions'), context);
  const names = spec.names ?? {};
  yield* requireNames(names, 'spec.names');
  yield* validateNames(names, 'spec.names');
  const hasStatus = Boolean(shared.subresources?.status) || versions.some(({subresources}) => subresources?.status);
  const anyNumberSelectable = versions.every(({name}) => ratcheting.tooManySelectable.has(name));
  yield* validateVersionFields(
    shared,
    {...context, version: versions[0]?.name ?? '', hasStatus, anyNumberSelectable, schemaPath: 'spec.validation.openAPIV3Schema'},
    'spec',
  );
  const {conversion} = spec;
  if (!conversion) return;
  if (conversion.strategy !== 'None' && preservesUnknown)
    yield invalid('spec.conversion.strategy', conversion.strategy, 'must be None if spec.preserveUnknownFields is true');
  yield* validateConversion(conversion, ratcheting, 'spec.conversion');
}
