import {emptiedWithin} from '#src/schema/emptied.js';
import type {Findings} from '#src/api/collect-errors.js';
import {invalid, type FieldError} from '#src/api/field-error.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import {wireTime} from '#src/api/time.js';
import {extensions, someSchema} from '#src/schema/json-schema.js';
import {defineResource, type HookContext} from '#src/resources/definition.js';
import {immutable, semanticallyEqual} from '#src/resources/validation/equality.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {validateApproval} from './approval.js';
import {isTrue, setCondition} from './conditions.js';
import {formatWarnings} from './formats.js';
import {ratchetingFrom, noRatcheting, unchangedSchemas} from './ratcheting.js';
import {validateNames} from './names.js';
import {validateSpec, type RuleValidation} from './spec.js';
import type {Definition, Spec, Status} from './types.js';
import {schemasOf, storageVersion} from './versions.js';

/** Returns the finalizer that keeps a definition until its objects are deleted. */
export const cleanupFinalizer = (naming: Naming): string => `customresourcecleanup.${naming.group('apiextensions')}`;

const fillIn = ({spec, status}: Definition): void => {
  const names = spec?.names;
  if (names) {
    names.singular ||= (names.kind ?? '').toLowerCase();
    if (names.kind) names.listKind ||= `${names.kind}List`;
  }
  if (spec) spec.conversion ??= {strategy: 'None'};
  const webhook = spec?.conversion?.webhook;
  if (webhook && !webhook.clientConfig && !webhook.conversionReviewVersions?.length) delete spec.conversion!.webhook;
  const service = webhook?.clientConfig?.service;
  if (service) service.port ??= 443;
  // Conditions are shown as null if there are none.
  if (status) status.conditions ??= null;
  const stored = spec && storageVersion(spec);
  if (status && !status.storedVersions?.length && stored) status.storedVersions = [stored];
};

/** Adds the storage version to `status.storedVersions`. */
const noteStorage = ({spec, status}: Definition): void => {
  const version = storageVersion(spec);
  if (!status || version === undefined || status.storedVersions?.includes(version)) return;
  status.storedVersions = [...(status.storedVersions ?? []), version];
};

const tracksGenerations = ({status}: Readonly<Definition>): boolean =>
  Boolean(status?.observedGeneration) || (status?.conditions ?? []).some(({observedGeneration}) => observedGeneration);

/** Drops observed generations while the gate is off, unless they are in use. */
const dropGenerations = ({status}: Definition): void => {
  if (!status) return;
  delete status.observedGeneration;
  for (const condition of status.conditions ?? []) delete condition.observedGeneration;
};

/** The compiler of rules is loaded with the first rule. */
let rules: typeof import('./rules.js') | undefined;
const loadRules = async (): Promise<void> => {
  rules = await import('./rules.js');
};

const hasRules = (spec: Spec | undefined): boolean =>
  spec !== undefined && schemasOf(spec).some(schema => someSchema(schema, one => (one[extensions.validations]?.length ?? 0) > 0));

/** Returns the status of a new definition. */
const emptyStatus = (): Status => ({conditions: null, acceptedNames: {plural: '', kind: ''}, storedVersions: []});

function* validateStoredVersions({spec, status}: Readonly<Definition>): Iterable<FieldError> {
  const path = 'status.storedVersions';
  const stored = status?.storedVersions ?? [];
  if (stored.length === 0) return yield invalid(path, null, 'must have at least one stored version');
  // A version that occurs twice is removed once.
  const left = new Set(stored);
  for (const {name, storage} of spec.versions ?? [])
    if (!left.delete(name) && storage) yield invalid(path, stored, `must have the storage version ${name}`);
  for (const [i, name] of stored.entries()) {
    if (!left.has(name) || stored.lastIndexOf(name) !== i) continue;
    yield invalid(
      `${path}[${i}]`,
      name,
      `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`,
    );
  }
}

/** Validates that the name is made of plural and group. */
function* validateName({metadata, spec}: Readonly<Definition>): Iterable<FieldError> {
  const {name = '', generateName} = metadata ?? {};
  const detail = 'must be spec.names.plural+"."+spec.group';
  const wanted = `${spec?.names?.plural ?? ''}.${spec?.group ?? ''}`;
  if (generateName && generateName !== wanted) yield invalid('metadata.generateName', generateName, detail);
  if (name && name !== wanted) yield invalid('metadata.name', name, detail);
}

/** Validates the immutable fields: group and plural and, once established, kind and scope. */
function* validateChange({spec}: Readonly<Definition>, old: Readonly<Definition>): Iterable<FieldError> {
  if (isTrue(old, 'Established')) {
    yield* immutable('spec.scope', spec.scope, old.spec.scope);
    yield* immutable('spec.names.kind', spec.names?.kind, old.spec.names.kind);
  }
  yield* immutable('spec.group', spec.group, old.spec.group);
  yield* immutable('spec.names.plural', spec.names?.plural, old.spec.names.plural);
}

/** Returns undefined if there are no rules, or they did not change. */
const ruleValidation = (definition: Readonly<Definition>, old: Readonly<Definition> | undefined): RuleValidation | undefined => {
  const {spec} = definition;
  if (!hasRules(spec) || semanticallyEqual(spec.versions, old?.spec.versions)) return undefined;
  const unchanged: ReadonlySet<string> = old ? unchangedSchemas(definition, old) : new Set();
  return (schema, path, {version, problems}) => rules!.ruleProblems(schema, path, {free: unchanged.has(version), problems});
};

function* validate(definition: Readonly<Definition>, old: Readonly<Definition> | undefined, {naming}: HookContext): Findings {
  const {spec = {} as Spec, status} = definition;
  if (!old) yield* validateName(definition);
  yield* validateSpec(spec, {
    ratcheting: old ? ratchetingFrom(definition, old) : noRatcheting,
    rules: ruleValidation(definition, old),
  });
  if (old) yield* validateChange(definition, old);
  yield* validateNames(status?.acceptedNames ?? {}, 'status.acceptedNames');
  yield* validateStoredVersions(definition);
  yield* validateApproval(definition, old, naming);
  if (spec.preserveUnknownFields && !old?.spec.preserveUnknownFields) {
    yield invalid(
      'spec.preserveUnknownFields',
      true,
      'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
    );
  }
}

/**
 * CustomResourceDefinition: a kind that users add to the API. It is served once its names are accepted, and removed
 * after its objects.
 */
export const customResourceDefinitions = defineResource<Definition>({
  kind: kinds.customResourceDefinitions,
  discovery: {shortNames: ['crd', 'crds'], categories: ['api-extensions']},
  storage: {isUnderGroup: true, kind: {...kinds.customResourceDefinitions, version: 'v1beta1'}},
  metadata: {
    nameProblems: subdomainName,
    anyFinalizers: true,
    generation: true,
    // Upstream, a keyword with an unreadable value counts, an empty one does not.
    generationCountsEmptied({spec}) {
      for (const fields of emptiedWithin(spec)) for (const value of fields.values()) if (value === undefined) return true;
      return false;
    },
  },
  update: {unconditional: false},
  ready: ({spec}) => (rules || !hasRules(spec) ? undefined : loadRules()),
  default: fillIn,
  main: {
    writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
    prepare(definition, old, {gate}) {
      if (!old) definition.status = emptyStatus();
      noteStorage(definition);
      if (!gate('CRDObservedGenerationTracking') && !(old && tracksGenerations(old))) dropGenerations(definition);
    },
    validate,
    warn: formatWarnings,
  },
  subresources: {
    status: {
      hasNoTable: true,
      writes: {update: ['metadata', 'status']},
      validate: ({status}) => validateNames(status?.acceptedNames ?? {}, 'status.acceptedNames'),
    },
  },
  deletion: {
    hasPhases: true,
    begin(definition, {naming, clock}) {
      const meta = definition.metadata!;
      if (meta.deletionTimestamp) return 'remove';
      const now = clock.now();
      meta.deletionTimestamp = wireTime(now);
      const finalizer = cleanupFinalizer(naming);
      if (!meta.finalizers?.includes(finalizer)) meta.finalizers = [...(meta.finalizers ?? []), finalizer];
      setCondition(
        definition,
        {
          type: 'Terminating',
          status: 'True',
          reason: 'InstanceDeletionPending',
          message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
        },
        now,
      );
      return 'keep';
    },
  },
});
