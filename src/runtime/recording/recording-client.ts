import {keyOf, type ObjectKey} from '#src/api/key.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {messageOf} from '#src/base/message.js';
import type {Client, ResourceClient} from '#src/client/client.js';
import {withResources} from '#src/client/with-resources.js';
import type {ReconcileWrite} from '#src/observe/flight-recorder.js';
import type {RecordedAttempts} from './recorded-attempts.js';

/** Wraps a client so that its writes are noted as those of the reconciles in progress. */
export const recordingClient = (client: Client, attempts: RecordedAttempts): Client => {
  const noted = async <R>(
    kind: Kind,
    key: ObjectKey,
    verb: ReconcileWrite['verb'],
    options: {readonly subresource?: string; readonly dryRun?: boolean} | undefined,
    write: () => Promise<R>,
    object?: KubeObject,
  ): Promise<R> => {
    const note = options?.dryRun ? undefined : attempts.writing(kind, key, object);
    if (!note) return write();
    const subresource = options?.subresource ? {subresource: options.subresource} : {};
    try {
      const result = await write();
      const written = result as KubeObject | undefined;
      const {resourceVersion} = written?.metadata ?? {};
      note({verb, ...subresource, ...(resourceVersion ? {revision: resourceVersion} : {})}, written);
      return result;
    } catch (error) {
      note({verb, ...subresource, error: messageOf(error)});
      throw error;
    }
  };
  const named = (name: string, options: {readonly namespace?: string} | undefined): ObjectKey => ({
    namespace: options?.namespace ?? '',
    name,
  });
  const recording = <T extends KubeObject>(given: Kind<T>, of: ResourceClient<T>): ResourceClient<T> => {
    const kind = given as Kind;
    return {
      get: (name, options) => of.get(name, options),
      list: options => of.list(options),
      watch: options => of.watch(options),
      create: (object, options) => noted(kind, keyOf(object), 'create', options, () => of.create(object, options), object),
      update: (object, options) => noted(kind, keyOf(object), 'update', options, () => of.update(object, options), object),
      patch: (name, type, body, options) => noted(kind, named(name, options), 'patch', options, () => of.patch(name, type, body, options)),
      async apply(name, configuration, options) {
        let isNew = false;
        const object = await noted(kind, named(name, options), 'apply', options, async () => {
          const result = await of.apply(name, configuration, options);
          ({isNew} = result);
          return result.object;
        });
        return {isNew, object};
      },
      delete: (name, options) => noted(kind, named(name, options), 'delete', options, () => of.delete(name, options)),
      deleteCollection: options => noted(kind, named('', options), 'deletecollection', undefined, () => of.deleteCollection(options)),
    };
  };
  return withResources(client, {
    resource: kind => recording(kind, client.resource(kind)),
    metadata: kind => recording(kind as Kind<KubeObject>, client.metadata(kind)),
  });
};
