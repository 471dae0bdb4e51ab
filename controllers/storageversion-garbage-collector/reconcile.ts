import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {unlessMissing} from '#src/client/missing.js';
import {isServerLease, statusOf, type ServerVersions} from '#src/model/storage-version.js';
import {settled, type KeyedContext, type Loops} from '#src/runtime/controller.js';

type StorageVersion = ObjectOf<typeof kinds.storageVersions>;

/** One loop for deleted leases, one for StorageVersions of servers without a lease. Both use live reads. */
export const collectors = ({client, writer, clock, naming}: KeyedContext): Loops => {
  const namespace = naming.systemNamespace;
  const versions = client.resource(kinds.storageVersions);
  const leases = client.resource(kinds.leases);
  const writes = writer(kinds.storageVersions);
  const keep = async (version: StorageVersion, servers: readonly ServerVersions[]): Promise<void> => {
    if (servers.length === 0) await writes.delete(version, {onlyIf: 'named'});
    else await writes.updateStatus({...version, status: statusOf(servers, version, clock.now())});
  };
  return {
    async leases({name}) {
      if (await unlessMissing(leases.get(name, {namespace}))) return settled;
      const {items} = await versions.list();
      const failures: unknown[] = [];
      for (const version of items) {
        const servers = version.status?.storageVersions ?? [];
        const left = servers.filter(({apiServerID}) => apiServerID !== name);
        if (left.length < servers.length) await keep(version, left).catch((error: unknown) => failures.push(error));
      }
      if (failures.length > 0) throw failures.length === 1 ? failures[0] : new AggregateError(failures, failures.map(String).join(', '));
      return settled;
    },
    async storageversions({name}) {
      const version = await unlessMissing(versions.get(name));
      if (!version) return settled;
      const servers = version.status?.storageVersions ?? [];
      const known = await Promise.all(
        servers.map(async ({apiServerID}) =>
          isServerLease(apiServerID ? await unlessMissing(leases.get(apiServerID, {namespace})) : undefined, naming),
        ),
      );
      const left = servers.filter((_, index) => known[index]);
      if (left.length < servers.length) await keep(version, left);
      return settled;
    },
  };
};
