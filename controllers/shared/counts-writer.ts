import {keyOf, type Frozen} from '#src/api/key.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import type {ControllerContext} from '#src/runtime/controller.js';

/** Returns a function that writes a status of counts. It retries once on the latest version: the counts are valid for it too. */
export const countsWriter = <T extends KubeObject>({client, writer}: Pick<ControllerContext, 'client' | 'writer'>, kind: Kind<T>) => {
  const resource = client.resource(kind);
  const writes = writer(kind);
  return async (object: Frozen<T>, statusOver: (latest: Frozen<T>) => unknown): Promise<void> => {
    const write = (latest: Frozen<T>) => writes.updateStatus({...latest, status: statusOver(latest)} as unknown as T);
    try {
      await write(object);
    } catch {
      const {namespace, name} = keyOf(object);
      await write((await resource.get(name, {namespace})) as Frozen<T>);
    }
  };
};
