import type {Frozen} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';

const has = ({metadata}: Frozen<KubeObject>, finalizer: string): boolean => metadata?.finalizers?.includes(finalizer) ?? false;

/** Whether an object is being deleted and has this finalizer. */
export const awaits = (object: Frozen<KubeObject>, finalizer: string): boolean =>
  Boolean(object.metadata?.deletionTimestamp) && has(object, finalizer);

/** Whether an object that is not being deleted lacks this finalizer. */
export const lacks = (object: Frozen<KubeObject>, finalizer: string): boolean =>
  !object.metadata?.deletionTimestamp && !has(object, finalizer);

export const withFinalizer = <T extends KubeObject>(object: Frozen<T>, finalizer: string): T => {
  const {metadata} = object;
  return {...(object as T), metadata: {...(metadata as T['metadata']), finalizers: [...(metadata?.finalizers ?? []), finalizer]}};
};

export const withoutFinalizer = <T extends KubeObject>(object: Frozen<T>, finalizer: string): T => {
  const {metadata} = object;
  return {
    ...(object as T),
    metadata: {...(metadata as T['metadata']), finalizers: (metadata?.finalizers ?? []).filter(each => each !== finalizer)},
  };
};
