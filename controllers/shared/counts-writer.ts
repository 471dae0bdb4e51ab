import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import type {ControllerContext} from '#src/runtime/controller.js';
import {StatusPace} from './status-pace.js';

/**
 * Returns a function that writes a status of counts. It retries once on the latest version: the counts are valid for it
 * too. It resolves to 0, or to in how many ms to sync the object again where its status was written too often lately;
 * it is written all the same if it is urgent.
 */
export const countsWriter = <T extends KubeObject>(
  {client, writer, clock, listen}: Pick<ControllerContext, 'client' | 'writer' | 'clock' | 'listen'>,
  kind: Kind<T>,
) => {
  const resource = client.resource(kind);
  const writes = writer(kind);
  const pace = new StatusPace(clock);
  listen(kind, ({type, object}) => {
    if (type === 'deleted') pace.forget(keyText(keyOf(object)));
  });
  return async (object: Frozen<T>, statusOver: (latest: Frozen<T>) => unknown, {isUrgent = false} = {}): Promise<number> => {
    const waitMs = isUrgent ? 0 : pace.waitMs(keyText(keyOf(object)));
    if (waitMs > 0) return waitMs;
    const write = (latest: Frozen<T>) => writes.updateStatus({...latest, status: statusOver(latest)} as unknown as T);
    try {
      await write(object);
    } catch {
      const {namespace, name} = keyOf(object);
      await write((await resource.get(name, {namespace})) as Frozen<T>);
    }
    return 0;
  };
};
