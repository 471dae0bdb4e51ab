import {invalid, required, type FieldError} from '#src/api/field-error.js';
import {kinds} from '#src/api/kinds.js';
import {dnsLabel1035Problems, dnsSubdomainProblems} from '#src/api/names.js';
import type {StorageVersionMigration} from '#src/api/types.js';
import {defineResource} from '#src/resources/definition.js';
import {isConditionTrue, validateConditions} from '#src/resources/validation/conditions.js';
import {immutable} from '#src/resources/validation/equality.js';
import {subdomainName} from '#src/resources/validation/names.js';

function* validate({spec}: Readonly<StorageVersionMigration>, old: Readonly<StorageVersionMigration> | undefined): Iterable<FieldError> {
  const {group, resource} = spec?.resource ?? {group: '', resource: ''};
  const path = 'spec.resource';
  if (!resource) yield required(`${path}.resource`, 'resource is required to be set');
  else {
    const problems = dnsLabel1035Problems(resource);
    if (problems.length > 0) yield invalid(`${path}.resource`, resource, problems.join(','));
  }
  const groupProblems = group ? dnsSubdomainProblems(group) : [];
  if (groupProblems.length > 0) yield invalid(`${path}.group`, group, groupProblems.join(','));
  if (old) yield* immutable('spec', spec, old.spec);
}

const verdictOf = ({status}: Readonly<StorageVersionMigration>) => ({
  succeeded: isConditionTrue(status?.conditions, 'Succeeded'),
  failed: isConditionTrue(status?.conditions, 'Failed'),
  running: isConditionTrue(status?.conditions, 'Running'),
});

function* validateVersion(version: string | undefined, old: string | undefined): Iterable<FieldError> {
  const path = 'status.resourceVersion';
  if (version && !/^(?:0|[1-9]\d*)$/.test(version)) yield invalid(path, version, `resource version is not well formed: ${version}`);
  if (old && version !== old) yield invalid(path, version ?? '', 'field is immutable');
}

function* validateStatus(migration: Readonly<StorageVersionMigration>, old: Readonly<StorageVersionMigration>): Iterable<FieldError> {
  const path = 'status.conditions';
  const conditions = migration.status?.conditions ?? [];
  yield* validateVersion(migration.status?.resourceVersion, old.status?.resourceVersion);
  yield* validateConditions(conditions, path);
  const [now, was] = [verdictOf(migration), verdictOf(old)];
  if (now.succeeded && now.failed) yield invalid(path, conditions, 'Both success and failed conditions cannot be true at the same time');
  if (now.succeeded && now.running) yield invalid(path, conditions, 'Running condition cannot be true when success condition is true');
  if (now.failed && now.running) yield invalid(path, conditions, 'Running condition cannot be true when failed condition is true');
  if (was.succeeded && !now.succeeded) yield invalid(path, conditions, 'Success condition cannot be set to false once it is true');
  if (was.failed && !now.failed) yield invalid(path, conditions, 'Failed condition cannot be set to false once it is true');
}

/** Asks that every stored object of a resource be written again, in the version objects are stored in now (KEP-4192). */
export const storageVersionMigrations = defineResource<StorageVersionMigration>({
  kind: kinds.storageVersionMigrations,
  nameProblems: subdomainName,
  alwaysPresent: {status: {}},
  main: {writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']}, validate},
  subresources: {status: {writes: {update: ['metadata', 'status']}, validate: (migration, old) => validateStatus(migration, old!)}},
});
