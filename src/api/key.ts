import type {KubeObject} from './types.js';

/** Where an object is found within its kind. The namespace of a cluster-scoped object is empty. */
export interface ObjectKey {
  readonly namespace: string;
  readonly name: string;
}

/** `namespace/name`, or `name` without a namespace: how queues, caches and logs spell a key. */
export const keyText = ({namespace, name}: ObjectKey): string => (namespace ? `${namespace}/${name}` : name);

/** The key that `keyText` spelled. */
export const parseKey = (text: string): ObjectKey => {
  const slash = text.indexOf('/');
  return slash < 0 ? {namespace: '', name: text} : {namespace: text.slice(0, slash), name: text.slice(slash + 1)};
};

/** The key of an object. */
export const keyOf = ({metadata}: {readonly metadata?: {readonly namespace?: string; readonly name?: string}}): ObjectKey => ({
  namespace: metadata?.namespace ?? '',
  name: metadata?.name ?? '',
});

/** A value as caches share it: nobody may change any part of it. */
export type Frozen<T> = T extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : T extends object
    ? {readonly [K in keyof T]: Frozen<T[K]>}
    : T;

/** A private copy of a shared object, free to be changed. */
export const copyOf = <T extends KubeObject>(shared: Frozen<T>): T => structuredClone(shared) as T;
