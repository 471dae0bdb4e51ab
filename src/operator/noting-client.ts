import {keyOf, type ObjectKey} from '#src/api/key.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import type {Client as ResourceClients, ResourceClient} from '#src/client/client.js';
import {ownSubresources} from '#src/client/own-subresources.js';
import {withResources} from '#src/client/with-resources.js';
import type {OwnWrites} from './own-writes.js';

interface Write {
  readonly dryRun?: boolean;
  readonly namespace?: string;
  readonly subresource?: string;
}

interface Noting {
  recordedAs<T>(key: ObjectKey, act: () => T): T;
  readonly writes: OwnWrites;
  readonly key: ObjectKey;
  readonly cluster?: string | undefined;
}

/** Wraps a client so that its writes of single objects are remembered as those of the reconcile of a key. */
export const notingClient = (client: ResourceClients, {writes, key, cluster, recordedAs}: Noting): ResourceClients => {
  const noted = async <R>(kind: Kind, object: ObjectKey | undefined, options: Write = {}, act: () => Promise<R>): Promise<R> => {
    const write = () => recordedAs(key, act);
    const {dryRun, subresource} = options;
    if (dryRun || (subresource && !ownSubresources.has(subresource))) return write();
    const inProgress = writes.begin(key, {kind, cluster}, object);
    try {
      const result = await write();
      inProgress.done(result);
      return result;
    } catch (error) {
      inProgress.failed();
      throw error;
    }
  };
  const named = (name: string, options: Write | undefined): ObjectKey => ({namespace: options?.namespace ?? '', name});
  const noting = <T extends KubeObject>(kind: Kind<T>, of: ResourceClient<T>): ResourceClient<T> => {
    const own = kind as Kind;
    const keyIn = (object: T): ObjectKey | undefined => (object.metadata?.name ? keyOf(object) : undefined);
    return {
      get: (name, options) => of.get(name, options),
      list: options => of.list(options),
      watch: options => of.watch(options),
      create: (object, options) => noted(own, keyIn(object), options, () => of.create(object, options)),
      update: (object, options) => noted(own, keyIn(object), options, () => of.update(object, options)),
      patch: (name, type, body, options) => noted(own, named(name, options), options, () => of.patch(name, type, body, options)),
      async apply(name, configuration, options) {
        let isNew = false;
        const object = await noted(own, named(name, options), options, async () => {
          const result = await of.apply(name, configuration, options);
          ({isNew} = result);
          return result.object;
        });
        return {isNew, object};
      },
      delete: (name, options) => noted(own, named(name, options), options, () => of.delete(name, options)),
      deleteCollection: options => of.deleteCollection(options),
    };
  };
  return withResources(client, {resource: kind => noting(kind, client.resource(kind))});
};
