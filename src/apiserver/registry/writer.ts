import {notFound} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {Writer} from '#src/api/writer.js';
import {RevisionMismatch} from '#src/storage/errors.js';
import {deleteObject} from './delete.js';
import {encodeRecord} from './record.js';
import type {Registry, Resource, WriteContext} from './registry.js';

const changeOnce = async <T extends KubeObject>(resource: Resource, namespace: string, name: string, change: (object: T) => void, dryRun: boolean): Promise<Readonly<T>> => {
  const {store} = resource.settings;
  const record = await store.get(resource.key(namespace, name));
  if (!record) throw notFound(resource.ref, name);
  const object = structuredClone(resource.objects.of(record.key, record.value, record.revision)) as T;
  change(object);
  if (dryRun) return object;
  const value = encodeRecord(object);
  const revision = await store.update(record.key, value, record.revision);
  return resource.objects.of(record.key, value, revision) as Readonly<T>;
};

/** How the server changes its own objects. */
export const registryChange =
  (registry: Registry, dryRun = false): Writer['change'] =>
  async (kind, namespace, name, change) => {
    for (;;) {
      try {
        return await changeOnce(registry.of(kind), namespace, name, change, dryRun);
      } catch (error) {
        if (!(error instanceof RevisionMismatch)) throw error;
      }
    }
  };

/** Writes to the registry's objects in the version they are stored in. */
export const registryWriter = (registry: Registry, context: WriteContext): Writer => ({
  change: registryChange(registry, context.dryRun),
  async delete(kind, namespace, name, options) {
    const dryRun = context.dryRun || Boolean(options.dryRun?.length);
    await deleteObject(registry.of(kind), namespace, name, options, {...context, served: kind, dryRun, isAdmitted: true});
  },
});
