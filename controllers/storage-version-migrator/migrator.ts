import {discover, groupVersionOf, handleOf, type FoundResource} from '#controllers/shared/discovery.js';
import type {Frozen} from '#src/api/key.js';
import {isConflict, StatusError} from '#src/api/status.js';
import {parseTime} from '#src/api/time.js';
import type {StorageVersionMigration} from '#src/api/kinds/storagemigration.js';
import type {KubeObject} from '#src/api/types.js';
import {messageOf} from '#src/base/message.js';
import {listAll} from '#src/client/pages.js';
import {Expected, type Attempt, type KeyedContext} from '#src/runtime/controller.js';
import type {Writer} from '#src/runtime/writer.js';
import {atStage} from './status.js';

export type Migration = Frozen<StorageVersionMigration>;

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
export class MigrationFailure extends Error {}

const textOf = ({group, version, resource}: FoundResource): string => `${group}/${version}, Resource=${resource}`;

interface MigratorParts extends Pick<KeyedContext, 'client' | 'clock' | 'naming'> {
  /** The field manager of rewritten objects. */
  readonly manager: string;
  readonly updateStatus: Writer<StorageVersionMigration>['updateStatus'];
}

/** The two steps of a migration. */
export class Migrator {
  readonly #parts: MigratorParts;

  constructor(parts: MigratorParts) {
    this.#parts = parts;
  }

  async #resourceOf({spec, metadata}: Migration): Promise<FoundResource> {
    const {group = '', resource} = spec.resource;
    const found = (await discover(this.#parts.client)).resources.find(one => one.group === group && one.resource === resource);
    if (found) return found;
    if ((parseTime(metadata?.creationTimestamp) ?? 0) + resourceTimeoutMs > this.#parts.clock.now())
      throw new Expected('the resource to be migrated is not served yet');
    throw new MigrationFailure('resource does not exist in discovery');
  }

  /** Records the current resource version: later writes use the current storage version. */
  async begin(migration: Migration): Promise<void> {
    const found = await this.#resourceOf(migration);
    if (!verbsNeeded.every(verb => found.verbs.includes(verb)))
      throw new MigrationFailure(`resource "${textOf(found)}" does not support discovery operations: [${verbsNeeded.join(' ')}]`);
    const {client, naming, updateStatus} = this.#parts;
    const {metadata} = await client.metadata(handleOf(naming, found)).list({limit: 1});
    await updateStatus({
      ...(migration as StorageVersionMigration),
      status: {...(migration.status as StorageVersionMigration['status']), resourceVersion: metadata?.resourceVersion ?? ''},
    });
  }

  async #rewrite(found: FoundResource, {metadata = {}}: KubeObject): Promise<void> {
    const {name = '', namespace, uid, resourceVersion} = metadata;
    // The uid and the resource version prevent recreating a deleted object and overwriting other changes.
    const {client, naming, manager} = this.#parts;
    const intent = {apiVersion: groupVersionOf(found), kind: found.kind, metadata: {uid, resourceVersion}};
    await client
      .metadata(handleOf(naming, found))
      .patch(name, 'apply', intent, {...(namespace ? {namespace} : {}), fieldManager: manager})
      .catch((error: unknown) => {
        if (isConflict(error)) return;
        throw isRetriable(error) ? error : new MigrationFailure(`migration encountered unhandled error: ${messageOf(error)}`);
      });
  }

  /** Rewrites the objects up to a resource version. */
  async migrate(running: Migration, until: number, {log, signal}: Attempt): Promise<void> {
    const found = await this.#resourceOf(running);
    const {client, clock, naming, updateStatus} = this.#parts;
    const {items} = await listAll(client.metadata(handleOf(naming, found)));
    let count = 0;
    for (const object of items) {
      if (signal.aborted) return;
      if (Number(object.metadata?.resourceVersion) > until) continue;
      await this.#rewrite(found, object);
      count++;
    }
    log.info({count}, 'migrated objects to the version that is stored');
    await updateStatus(atStage(running, 'Succeeded', clock.now()));
  }
}
