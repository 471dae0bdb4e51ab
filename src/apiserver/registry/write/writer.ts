import {notFound} from '#src/api/status.js';
import {wellKnown} from '#src/api/user.js';
import type {KubeObject} from '#src/api/types.js';
import type {Preconditions, Writer} from '#src/api/writer.js';
import {copyJson} from '#src/base/json/json-copy.js';
import {RevisionMismatch} from '#src/storage/errors.js';
import {deleteObject} from './delete.js';
import {checkPreconditions} from './preconditions.js';
import {untilUncontended} from './races.js';
import type {Writing} from './recorded.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import type {Resource} from '#src/apiserver/registry/resource.js';
import type {WriteContext} from '#src/apiserver/registry/write-context.js';
import {replaceRecord} from './stored.js';

interface ChangeOptions {
  readonly dryRun: boolean;
  readonly preconditions?: Preconditions | undefined;
  readonly context: Writing;
}

const changeOnce = async <T extends KubeObject>(
  resource: Resource,
  namespace: string,
  name: string,
  change: (object: T) => void,
  {dryRun, preconditions = {}, context}: ChangeOptions,
): Promise<Readonly<T>> => {
  const record = await resource.settings.store.get(resource.key(namespace, name));
  if (!record) throw notFound(resource.ref, name);
  const object = copyJson(resource.objects.of(record.key, record.value, record.revision)) as T;
  checkPreconditions(resource, record.key, preconditions, object, {ref: resource.ref, dryRun});
  change(object);
  const replaced = await replaceRecord(resource, record, object, {...context, dryRun});
  return replaced.object as Readonly<T>;
};

/** The server itself. */
const own: Writing = {user: {name: wellKnown.server, groups: []}, manager: ''};

/**
 * Returns a function that changes objects on the server's behalf, without admission or validation, and retries on
 * conflicts.
 */
export const registryChange =
  (registry: Registry, dryRun = false, context: Writing = own): Writer['change'] =>
  async (kind, namespace, name, change, preconditions) => {
    const resource = registry.of(kind);
    return untilUncontended({resource, name, served: kind}, async () => {
      try {
        return await changeOnce(resource, namespace, name, change, {dryRun, preconditions, context});
      } catch (error) {
        if (!(error instanceof RevisionMismatch)) throw error;
        return undefined;
      }
    });
  };

/** Returns a writer of the registry's objects in their stored version. */
export const registryWriter = (registry: Registry, context: WriteContext): Writer => ({
  change: registryChange(registry, context.dryRun, context),
  async delete(kind, namespace, name, options) {
    const dryRun = context.dryRun || Boolean(options.dryRun?.length);
    await deleteObject(registry.of(kind), namespace, name, options, {...context, served: kind, dryRun, isAdmitted: true});
  },
});
