import type {ObjectKey} from '#src/api/key.js';

/** The name of a cluster-scoped object, or a key; the metadata of an object is one. */
export type KeyLike = string | {readonly namespace?: string | undefined; readonly name: string};

/** Returns the whole key; a name alone has no namespace. */
export const objectKey = (key: KeyLike): ObjectKey =>
  typeof key === 'string' ? {namespace: '', name: key} : {namespace: key.namespace ?? '', name: key.name};
