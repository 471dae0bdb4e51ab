import {isNotFound} from '#src/api/status.js';
import type {UserInfo} from '#src/api/user.js';
import {deleteObject} from '#src/apiserver/registry/write/delete.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import type {Resource} from '#src/apiserver/registry/resource.js';
import type {WriteContext} from '#src/apiserver/registry/write-context.js';
import type {Definition} from '#src/resources/apiextensions/types.js';
import {endOfPrefix, type StoredRecord} from '#src/storage/store.js';
import type {CustomCatalog} from './catalog.js';

const pageSize = 500;

const keysUnder = async function* (registry: Registry, prefix: string): AsyncGenerator<string> {
  const {store} = registry.settings;
  const end = endOfPrefix(prefix);
  let start = prefix;
  for (;;) {
    const {records}: {records: readonly StoredRecord[]} = await store.range({start, end, limit: pageSize});
    for (const {key} of records) yield key;
    if (records.length < pageSize) return;
    start = `${records.at(-1)!.key}\0`;
  }
};

/**
 * The stored objects of custom resources, whether or not a version of them is still served: they have to be deleted
 * with their definitions.
 */
export const customInstances = (registry: Registry, catalog: CustomCatalog, user: UserInfo) => {
  const resourceOf = ({metadata, spec, status}: Definition): Resource => {
    const resource = catalog.stored(metadata?.name ?? '');
    if (!resource)
      throw new Error(
        `unable to find a custom resource client for ${status?.acceptedNames?.plural ?? ''}.${spec.group}: it is not served yet`,
      );
    return resource;
  };
  return {
    async namespaces(definition: Definition): Promise<string[]> {
      const {root, kind} = resourceOf(definition);
      const found: string[] = [];
      for await (const key of keysUnder(registry, root))
        found.push(kind.namespaced ? key.slice(root.length, key.indexOf('/', root.length)) : '');
      return found;
    },
    async remove(definition: Definition, namespace: string): Promise<void> {
      const resource = resourceOf(definition);
      const context: WriteContext = {user, dryRun: false, served: resource.kind, manager: '', warn: () => undefined};
      const prefix = resource.prefixOf(namespace);
      for await (const key of keysUnder(registry, prefix)) {
        await deleteObject(resource, namespace, key.slice(prefix.length), {}, context).catch((error: unknown) => {
          if (!isNotFound(error)) throw error;
        });
      }
    },
  };
};
