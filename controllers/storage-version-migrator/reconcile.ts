import {discover, groupVersionOf, handleOf, type FoundResource} from '#controllers/shared/discovery.js';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {isConflict, StatusError} from '#src/api/status.js';
import {parseTime} from '#src/api/time.js';
import type {StorageVersionMigration} from '#src/api/kinds/storagemigration.js';
import type {KubeObject} from '#src/api/types.js';
import {messageOf} from '#src/base/message.js';
import {listAll} from '#src/client/pages.js';
import {Expected, settled, type Attempt, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';
import {atStage, isTrue} from './status.js';

type Migration = Frozen<StorageVersionMigration>;

/** How long a new migration's resource may be missing. */
const resourceTimeoutMs = 60_000;
const verbsNeeded = ['update', 'patch', 'list'];
const transientReasons: ReadonlySet<string> = new Set([
  'ServerTimeout',
  'TooManyRequests',
  'ServiceUnavailable',
  'InternalError',
  'Timeout',
]);

/** Whether a retry may succeed: there was no response, or one that indicates it. */
const isRetriable = (error: unknown): boolean => !(error instanceof StatusError) || transientReasons.has(error.reason);

/** Thrown when a migration cannot continue. */
class MigrationFailure extends Error {}

const textOf = ({group, version, resource}: FoundResource): string => `${group}/${version}, Resource=${resource}`;

/**
 * Processes one migration: first records the resource version up to which objects are migrated, then rewrites them,
 * then sets the result.
 */
export const migrationReconciler = ({lister, writer, client, clock, naming, name: manager}: KeyedContext): Reconcile => {
  const migrations = lister(kinds.storageVersionMigrations);
  const {updateStatus} = writer(kinds.storageVersionMigrations);

  const resourceOf = async ({spec, metadata}: Migration): Promise<FoundResource> => {
    const {group = '', resource} = spec.resource;
    const found = (await discover(client)).resources.find(one => one.group === group && one.resource === resource);
    if (found) return found;
    if ((parseTime(metadata?.creationTimestamp) ?? 0) + resourceTimeoutMs > clock.now())
      throw new Expected('the resource to be migrated is not served yet');
    throw new MigrationFailure('resource does not exist in discovery');
  };

  /** Records the current resource version: later writes use the current storage version. */
  const begin = async (migration: Migration): Promise<void> => {
    const found = await resourceOf(migration);
    if (!verbsNeeded.every(verb => found.verbs.includes(verb)))
      throw new MigrationFailure(`resource "${textOf(found)}" does not support discovery operations: [${verbsNeeded.join(' ')}]`);
    const {metadata} = await client.metadata(handleOf(naming, found)).list({limit: 1});
    await updateStatus({
      ...(migration as StorageVersionMigration),
      status: {...(migration.status as StorageVersionMigration['status']), resourceVersion: metadata?.resourceVersion ?? ''},
    });
  };

  const rewrite = async (found: FoundResource, {metadata = {}}: KubeObject): Promise<void> => {
    const {name = '', namespace, uid, resourceVersion} = metadata;
    // The uid and the resource version prevent recreating a deleted object and overwriting other changes.
    const intent = {apiVersion: groupVersionOf(found), kind: found.kind, metadata: {uid, resourceVersion}};
    await client
      .metadata(handleOf(naming, found))
      .patch(name, 'apply', intent, {...(namespace ? {namespace} : {}), fieldManager: manager})
      .catch((error: unknown) => {
        if (isConflict(error)) return;
        throw isRetriable(error) ? error : new MigrationFailure(`migration encountered unhandled error: ${messageOf(error)}`);
      });
  };

  const migrate = async (running: Migration, until: number, {log, signal}: Attempt): Promise<void> => {
    const found = await resourceOf(running);
    const {items} = await listAll(client.metadata(handleOf(naming, found)));
    let count = 0;
    for (const object of items) {
      if (signal.aborted) return;
      if (Number(object.metadata?.resourceVersion) > until) continue;
      await rewrite(found, object);
      count++;
    }
    log.info({count}, 'migrated objects to the version that is stored');
    await updateStatus(atStage(running, 'Succeeded', clock.now()));
  };

  return async ({name}, attempt) => {
    const migration = migrations.get(name);
    if (!migration || isTrue(migration, 'Succeeded') || isTrue(migration, 'Failed')) return settled;
    const until = migration.status?.resourceVersion;
    let newest: Migration = migration;
    try {
      if (!until) await begin(migration);
      else {
        if (!isTrue(migration, 'Running')) newest = await updateStatus(atStage(migration, 'Running', clock.now()));
        await migrate(newest, Number(until), attempt);
      }
    } catch (error) {
      if (!(error instanceof MigrationFailure)) throw error;
      await updateStatus(atStage(newest, 'Failed', clock.now(), error.message));
    }
    return settled;
  };
};
