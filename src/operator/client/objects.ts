// Types of objects that are read and written.

import type {Frozen} from '#src/api/key.js';
import type {KubeObject, ListMeta, ObjectMeta} from '#src/api/types.js';

/** An object of any kind, read-only or not. */
export type AnyObject = Frozen<KubeObject>;

/** The metadata that every stored object has. */
export interface StoredMeta {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly creationTimestamp: string;
}

/** An object that came from the server, read-only: it has a kind, a name, a uid and a resource version. */
export type Stored<T extends KubeObject = KubeObject> = Frozen<T> & {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: StoredMeta;
};

/** A list that came from the server. */
export interface StoredList<T extends KubeObject> {
  readonly metadata: Frozen<ListMeta>;
  readonly items: readonly Stored<T>[];
}

/** What a write did. `unchanged`: the object had these values already, or nothing was sent. */
export type Outcome = 'created' | 'changed' | 'unchanged';

/** The result of a write that creates or changes. */
export interface Written<T extends KubeObject> {
  readonly outcome: Outcome;
  readonly object: Stored<T>;
}

/** A copy that may be changed. */
export type Mutable<T> = T extends readonly (infer Item)[]
  ? Mutable<Item>[]
  : T extends object
    ? {-readonly [K in keyof T]: Mutable<T[K]>}
    : T;

/** The fields that a configuration gives: any part of them. Lists are given as a whole, their items in parts. */
export type Parts<T> = T extends readonly (infer Item)[]
  ? readonly Parts<Item>[]
  : T extends object
    ? string extends keyof T
      ? {readonly [K in keyof T]: Parts<T[K]>}
      : {readonly [K in keyof T]?: Parts<T[K]> | undefined}
    : T;

/** Fields that a body does not have: the kind is that of the handle, and the status is written by `status`. */
type NotGiven = 'apiVersion' | 'kind' | 'metadata' | 'status';

/** The metadata of a configuration. */
export type ConfiguredMeta = Parts<Omit<ObjectMeta, 'name'>> & {readonly name: string};

/**
 * The apply configuration of an object: the fields that the caller decides, at any depth. Kind and API version are
 * those of the handle it is passed with.
 */
export type Configuration<T extends KubeObject> = {readonly [K in keyof T as Exclude<K, NotGiven>]?: Parts<T[K]> | undefined} & {
  readonly metadata: ConfiguredMeta;
};

/** The apply configuration of the status subresource. */
export interface StatusConfiguration<T extends KubeObject> {
  readonly metadata: ConfiguredMeta;
  readonly status: Parts<StatusOf<T>>;
}

/** The metadata of a new object: a name, or the prefix of one. */
export type NewMeta = Frozen<Omit<ObjectMeta, 'name' | 'generateName'>> &
  ({readonly name: string; readonly generateName?: string} | {readonly generateName: string; readonly name?: never});

/** An object to create, with all fields that its type requires. Kind and API version are those of the handle. */
export type NewObject<T extends KubeObject> = {readonly [K in keyof T as Exclude<K, NotGiven>]: Frozen<T[K]>} & {
  readonly metadata: NewMeta;
};

/** The status of an object of the type `T`. */
export type StatusOf<T> = T extends {readonly status?: infer S} ? NonNullable<S> : Record<string, unknown>;
