// Types of objects to write, derived from those of cached, read-only objects.

import type {Frozen} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';

/** An object of any kind, read-only or not. */
export type AnyObject = Frozen<KubeObject>;

/** An object to write: `apiVersion` and `kind` identify its kind. */
export type Writable<T extends AnyObject = KubeObject> = Frozen<T> & {readonly apiVersion?: string; readonly kind?: string};

/** A copy that may be changed. `T` may be read-only, since it is inferred from a cached object. */
export type Mutable<T> = T extends readonly (infer Item)[]
  ? Mutable<Item>[]
  : T extends object
    ? {-readonly [K in keyof T]: Mutable<T[K]>}
    : T;
