// Object keys, `namespace/name`, and the read-only type of objects in caches.

import {jsonCopy} from '#src/base/json/json-value.js';
import type {KubeObject} from './types.js';

/** The key of an object within its kind. The namespace of a cluster-scoped object is empty. */
export interface ObjectKey {
  readonly namespace: string;
  readonly name: string;
}

/** `namespace/name`, or `name` without a namespace: the format of keys in queues, caches and logs. */
export const keyText = ({namespace, name}: ObjectKey): string => (namespace ? `${namespace}/${name}` : name);

/** Parses a key formatted by `keyText`. */
export const parseKey = (text: string): ObjectKey => {
  const slash = text.indexOf('/');
  return slash < 0 ? {namespace: '', name: text} : {namespace: text.slice(0, slash), name: text.slice(slash + 1)};
};

/** Returns the key of an object. */
export const keyOf = ({metadata}: {readonly metadata?: {readonly namespace?: string; readonly name?: string}}): ObjectKey => ({
  namespace: metadata?.namespace ?? '',
  name: metadata?.name ?? '',
});

/** A deeply read-only value shared by caches. */
export type Frozen<T> = T extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : T extends object
    ? {readonly [K in keyof T]: Frozen<T[K]>}
    : T;

/** Returns a mutable copy of a shared object. */
export const copyOf = <T extends KubeObject>(shared: Frozen<T>): T => jsonCopy(shared) as T;
