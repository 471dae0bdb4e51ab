import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {unlessMissing} from '#src/client/missing.js';
import {isAlreadyExists, isConflict} from '#src/api/status.js';
import {sleep, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Client} from '#src/client/client.js';
import {statusOf, type ServerVersions} from '#src/model/storage-version.js';

type StorageVersion = ObjectOf<typeof kinds.storageVersions>;

/** A resource that the server stores. */
interface Stored {
  readonly group: string;
  readonly resource: string;
  readonly encodingVersion: string;
  readonly decodableVersions: readonly string[];
  readonly servedVersions: readonly string[];
}

export interface StorageVersionSettings<R extends Stored> {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  /** The name of the server's identity lease, which must exist. */
  readonly server: string;
  readonly resources: readonly R[];
  /** Called with the result of each resource's publication. */
  updated(resource: R, error?: unknown): void;
}

const attempts = 3;
const pauseMs = 1000;
/** The interval of publication, which restores changed or deleted objects. */
const periodMs = 600_000;

/**
 * Publishes in StorageVersion objects the versions in which this server reads and writes each resource (KEP-2339),
 * periodically until the signal aborts. Resolves once all are published.
 */
export const publishStorageVersions = async <R extends Stored>(settings: StorageVersionSettings<R>, signal: AbortSignal): Promise<void> => {
  const {clock, resources, updated, log} = settings;
  const pass = async (): Promise<boolean> => {
    let all = true;
    for (const resource of resources) {
      try {
        await publish(settings, resource, signal);
        updated(resource);
      } catch (error) {
        if (signal.aborted) return false;
        log.error({group: resource.group, resource: resource.resource, err: error}, 'failed to update the storage version of a resource');
        updated(resource, error);
        all = false;
      }
    }
    return all;
  };
  const publishPeriodically = async (): Promise<void> => {
    for (;;) {
      await sleep(clock, periodMs, signal);
      if (signal.aborted) return;
      await pass();
    }
  };
  while (!(await pass()) && !signal.aborted) await sleep(clock, periodMs, signal);
  publishPeriodically().catch((error: unknown) => {
    if (!signal.aborted) log.error({err: error}, 'stopped updating storage versions');
  });
};

/** Conflicts with other servers are expected, and retried without limit. */
const publish = async <R extends Stored>(settings: StorageVersionSettings<R>, resource: R, signal: AbortSignal): Promise<void> => {
  for (let failures = 0; ;) {
    try {
      return await publishOnce(settings, resource);
    } catch (error) {
      if (isAlreadyExists(error) || isConflict(error)) continue;
      if (++failures === attempts) throw error;
      await sleep(settings.clock, pauseMs, signal);
    }
  }
};

const publishOnce = async <R extends Stored>({client, clock, server}: StorageVersionSettings<R>, resource: R): Promise<void> => {
  const objects = client.resource(kinds.storageVersions);
  // A group must be a name.
  const name = `${resource.group || 'core'}.${resource.resource}`;
  const found = await unlessMissing(objects.get(name));
  const object = found ?? (await objects.create({metadata: {name}, spec: {}, status: {}}));
  const {encodingVersion, decodableVersions, servedVersions} = resource;
  const own: ServerVersions = {
    apiServerID: server,
    encodingVersion,
    decodableVersions: [...decodableVersions],
    servedVersions: [...servedVersions],
  };
  await objects.update({...object, status: statusOf(withOwn(object, own), object, clock.now())}, {subresource: 'status'});
};

const withOwn = ({status}: StorageVersion, own: ServerVersions): ServerVersions[] => {
  const servers = status?.storageVersions ?? [];
  return servers.some(({apiServerID}) => apiServerID === own.apiServerID)
    ? servers.map(one => (one.apiServerID === own.apiServerID ? own : one))
    : [...servers, own];
};
