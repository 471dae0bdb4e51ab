import {invalid, required, type FieldError} from '#src/api/field-error.js';
import {kinds} from '#src/api/kinds/index.js';
import {dnsLabel1035Problems, dnsSubdomainProblems} from '#src/api/names.js';
import type {StorageVersionMigration} from '#src/api/kinds/storagemigration.js';
import {nameColumn} from '#src/resources/columns.js';
import {defineResource} from '#src/resources/definition.js';
import {isConditionTrue, validateConditions} from '#src/resources/validation/conditions.js';
import {immutable} from '#src/resources/validation/equality.js';
import {subdomainName} from '#src/resources/validation/names.js';

const conditionsPath = 'status.conditions';
const versionPath = 'status.resourceVersion';

const resourceOf = ({spec}: Readonly<StorageVersionMigration>): Partial<StorageVersionMigration['spec']['resource']> =>
  (spec as Partial<StorageVersionMigration['spec']> | undefined)?.resource ?? {};

function* validateResource(migration: Readonly<StorageVersionMigration>): Iterable<FieldError> {
  const {group, resource} = resourceOf(migration);
  if (!resource) yield required('spec.resource.resource', 'resource is required to be set');
  else {
    const problems = dnsLabel1035Problems(resource);
    if (problems.length > 0) yield invalid('spec.resource.resource', resource, problems.join(','));
  }
  const problems = group ? dnsSubdomainProblems(group) : [];
  if (problems.length > 0) yield invalid('spec.resource.group', group, problems.join(','));
}

/**
 * Differs from upstream: an empty version is accepted as long as none is set, for a migration can fail before one is
 * known.
 */
function* validateVersion(version: string, old: string): Iterable<FieldError> {
  if ((version || old) && !/^[1-9][0-9]*$/.test(version))
    yield invalid(versionPath, version, `resource version is not well formed: ${version}`);
}

function* validateOutcome(migration: Readonly<StorageVersionMigration>, old: Readonly<StorageVersionMigration>): Iterable<FieldError> {
  const conditions = migration.status?.conditions;
  const [isRunning, hasSucceeded, hasFailed] = ['Running', 'Succeeded', 'Failed'].map(type => isConditionTrue(conditions, type));
  const was = (type: string): boolean => isConditionTrue(old.status?.conditions, type);
  const wrong = (detail: string) => invalid(conditionsPath, conditions, detail);
  if (hasSucceeded && hasFailed) yield wrong('Both success and failed conditions cannot be true at the same time');
  if (hasSucceeded && isRunning) yield wrong('Running condition cannot be true when success condition is true');
  if (hasFailed && isRunning) yield wrong('Running condition cannot be true when failed condition is true');
  if (was('Succeeded') && !hasSucceeded) yield wrong('Success condition cannot be set to false once it is true');
  if (was('Failed') && !hasFailed) yield wrong('Failed condition cannot be set to false once it is true');
}

function* validateStatus(migration: Readonly<StorageVersionMigration>, old: Readonly<StorageVersionMigration>): Iterable<FieldError> {
  const [version, before] = [migration.status?.resourceVersion ?? '', old.status?.resourceVersion ?? ''];
  yield* validateVersion(version, before);
  yield* validateConditions(migration.status?.conditions, conditionsPath);
  if (before) yield* immutable(versionPath, version, before);
  yield* validateOutcome(migration, old);
}

const stages: ReadonlySet<string> = new Set(['Running', 'Failed', 'Succeeded']);

const resourceText = (migration: Readonly<StorageVersionMigration>): string => {
  const {group, resource = ''} = resourceOf(migration);
  return group ? `${resource}.${group}` : resource;
};

const {name, description, of} = nameColumn;

/** StorageVersionMigration: rewrites all objects of a resource in the current storage version (KEP-4192). */
export const storageVersionMigrations = defineResource<StorageVersionMigration>({
  kind: kinds.storageVersionMigrations,
  served: {gates: ['StorageVersionMigrator']},
  storage: {alwaysPresent: {status: {}}},
  metadata: {nameProblems: subdomainName},
  update: {unconditional: false},
  main: {
    metadata: 'both',
    writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
    *validate(migration, old) {
      yield* validateResource(migration);
      if (old) yield* immutable('spec', migration.spec, old.spec);
    },
  },
  subresources: {
    status: {
      writes: {update: ['status']},
      validate: (migration, old) => (old ? validateStatus(migration, old) : []),
    },
  },
  presentation: {
    columns: [
      // Upstream gives this name no format.
      {name, description, of},
      {name: 'Resource', description: 'The resource whose objects are to be written anew, with its group.', of: resourceText},
      {
        name: 'Status',
        description: 'How far it has come.',
        of: ({status}) => status?.conditions?.findLast(({type, status: is}) => is === 'True' && stages.has(type))?.type ?? 'Unknown',
      },
    ],
  },
});
