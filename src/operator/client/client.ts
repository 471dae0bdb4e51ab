// The interface of the client of operators, scripts and tests.

import type {Frozen} from '#src/api/key.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {DeleteOptions, KubeObject} from '#src/api/types.js';
import type {Client as ResourceClients, ListOptions, WriteOptions as RequestOptions} from '#src/client/client.js';
import type {KeyLike} from './keys.js';
import type {AnyObject, Configuration, Mutable, NewObject, StatusConfiguration, Stored, StoredList, Written} from './objects.js';
import type {StatusChange} from './status-change.js';

/** `T`, of which nothing is inferred. The `NoInfer` of the language needs TypeScript 5.4. */
type NotInferred<T> = [T][T extends unknown ? 0 : never];

/** Options of `get`. */
export interface GetOptions {
  /** Not older than this version: `0` is answered from the server's cache. Default: the newest. */
  readonly resourceVersion?: string;
  readonly signal?: AbortSignal;
}

/** Options of all writes. */
export interface WriteOptions extends Pick<RequestOptions, 'dryRun' | 'fieldManager' | 'fieldValidation' | 'signal'> {
  /** A subresource whose body is the object itself, such as `status`. */
  readonly subresource?: string;
}

/** Options of writes to a subresource with a body of its own, such as `scale`, `eviction` or `token`. */
export interface SubresourceOptions extends Omit<WriteOptions, 'subresource'> {
  readonly subresource: string;
  /** The object of the subresource. */
  readonly of: KeyLike;
}

/** Options of `apply`. */
export interface ApplyOptions extends WriteOptions {
  /** Whether fields owned by other managers are taken over. Default true, as controllers should. */
  readonly force?: boolean;
}

/** Options of a deletion by key. */
export interface DeleteKeyOptions extends Pick<DeleteOptions, 'propagationPolicy' | 'gracePeriodSeconds' | 'preconditions'> {
  readonly dryRun?: boolean;
  readonly signal?: AbortSignal;
}

/** Options of the deletion of an object that was read. */
export interface DeleteObjectOptions extends Omit<DeleteKeyOptions, 'preconditions'> {
  /** The precondition: the same uid (default), the same resource version, or only the name. */
  readonly onlyIf?: 'same' | 'unchanged' | 'named';
}

/**
 * A client of one API server with one identity. Kinds are given by their handles, from which the types of bodies and
 * results follow. Every method rejects with a `StatusError` for an error response. In a reconcile, writes have the
 * controller as field manager, and the objects of a kind that it `owns` get an owner reference. `resource` and
 * `request` reach everything else: watches, other patches, and requests by path.
 */
export interface Client extends ResourceClients {
  /** Reads from the server, not from a cache; undefined if the object does not exist. */
  get<T extends KubeObject>(
    kind: Kind<T>,
    key: KeyLike,
    options?: GetOptions & {readonly subresource?: 'status'},
  ): Promise<Stored<T> | undefined>;
  /** Reads a subresource, whose type may be another. */
  get(kind: Kind, key: KeyLike, options: GetOptions & {readonly subresource: string}): Promise<Stored | undefined>;
  /** Lists from the server, not from a cache. */
  list<T extends KubeObject>(kind: Kind<T>, options?: ListOptions): Promise<StoredList<T>>;
  /** Creates an object. Rejects with `AlreadyExists` if the name is taken. */
  create<T extends KubeObject>(kind: Kind<T>, object: NewObject<T>, options?: WriteOptions): Promise<Stored<T>>;
  /** Creates at a subresource, such as the `eviction` of a pod: `body` is sent, and the answer returned, as it is. */
  create<B extends KubeObject>(kind: Kind, body: Frozen<B>, options: SubresourceOptions): Promise<B>;
  /**
   * Creates or changes an object by server-side apply: the given fields are managed by the field manager, and fields it
   * no longer gives are removed. In a reconcile, nothing is sent if the cached object has these values and the same
   * configuration was applied before.
   *
   * The outcome is `unchanged` if the object has the version that was known before: that of the cache in a reconcile,
   * otherwise one that is read for it. A change that another client made since then counts as `changed`.
   */
  apply<T extends KubeObject>(kind: Kind<T>, configuration: Configuration<T>, options?: ApplyOptions): Promise<Written<T>>;
  /** Applies a configuration of the status. */
  apply<T extends KubeObject>(
    kind: Kind<T>,
    configuration: StatusConfiguration<T>,
    options: ApplyOptions & {readonly subresource: 'status'},
  ): Promise<Written<T>>;
  /**
   * Creates `object` as `mutate` changes it, or patches the existing one with what `mutate` changes of it. Rejects with
   * `Conflict` if the object was changed meanwhile.
   */
  createOrPatch<T extends KubeObject>(
    kind: Kind<T>,
    object: NewObject<T>,
    mutate: (draft: Mutable<T>) => void,
    options?: WriteOptions,
  ): Promise<Written<T>>;
  /** Replaces an object. Rejects with `Conflict` if it has another version than the given one, where one is given. */
  update<T extends KubeObject>(kind: Kind<T>, object: Frozen<T>, options?: WriteOptions): Promise<Stored<T>>;
  /** Replaces a subresource, such as the `scale` of a deployment. */
  update<B extends KubeObject>(kind: Kind, body: Frozen<B>, options: SubresourceOptions): Promise<B>;
  /**
   * Patches an object with what `mutate` changes of a copy. Rejects with `Conflict` if the object was changed since it
   * was read. Sends nothing without a difference.
   */
  patch<T extends KubeObject>(object: Stored<T>, mutate: (draft: Mutable<T>) => void, options?: WriteOptions): Promise<Stored<T>>;
  /**
   * Patches the status subresource in the same way as `patch`, with changes in their order: `setCondition`, or a
   * function that changes a draft of the status, or returns a new one.
   */
  status<T extends KubeObject>(object: Stored<T>, ...changes: readonly StatusChange<NotInferred<T>>[]): Promise<Stored<T>>;
  status<T extends KubeObject>(
    object: Stored<T>,
    changes: readonly StatusChange<NotInferred<T>>[],
    options: WriteOptions,
  ): Promise<Stored<T>>;
  /** Deletes an object that was read. A missing object is no error. */
  delete(object: AnyObject, options?: DeleteObjectOptions): Promise<void>;
  /** Deletes an object by its key. A missing object is no error. */
  delete(kind: Kind, key: KeyLike, options?: DeleteKeyOptions): Promise<void>;
  /**
   * Returns the client of another cluster of the manager, in a reconcile; throws elsewhere, and for a name that the
   * manager does not have. Objects that it writes get no owner reference, unless the reconciled object is in that
   * cluster, too.
   */
  cluster(name: string): Client;
  /** Adds a finalizer if it is missing. */
  addFinalizer<T extends KubeObject>(object: Stored<T>, finalizer: string, options?: WriteOptions): Promise<Stored<T>>;
  /** Removes a finalizer if it is present. A missing object is no error. */
  removeFinalizer<T extends KubeObject>(object: Stored<T>, finalizer: string, options?: WriteOptions): Promise<void>;
}
