// The client of a controller: it writes by server-side apply with the controller as field manager, skips writes without
// changes, and does not overwrite changes that it has not read.

import {copyOf, keyOf, keyText, type Frozen} from '#src/api/key.js';
import type {Kind} from '#src/api/kinds/index.js';
import {unlessMissing} from '#src/client/missing.js';
import type {KubeList, KubeObject, OwnerReference} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Client, ListOptions} from '#src/client/client.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import {writerOf, type WriterDeleteOptions} from '#src/runtime/writer.js';
import {createMergePatch} from '#src/schema/patch/merge-patch.js';
import type {AppliedConfigurations} from './applied.js';
import type {StatusChange, StatusOf} from './conditions.js';
import type {KindResolver} from './kind-resolver.js';
import {objectKey, type KeyLike} from './sources.js';
import type {AnyObject, Mutable, Writable} from './writable.js';

/** Options of `apply`. */
export interface ApplyOptions {
  /** Whether fields owned by other managers are taken over. Default true, as controllers should. */
  readonly force?: boolean;
}

/** Preconditions and the propagation policy of a deletion. */
export type DeleteObjectOptions = Omit<WriterDeleteOptions, 'signal'>;

/**
 * Reads from and writes to the API server with the identity of the operator. Every method rejects with a `StatusError`
 * for an error response.
 */
export interface OperatorClient {
  /** Reads from the server, not from a cache; undefined if the object does not exist. */
  get<T extends KubeObject>(kind: Kind<T>, key: KeyLike): Promise<T | undefined>;
  /** Lists from the server, not from a cache. */
  list<T extends KubeObject>(kind: Kind<T>, options?: ListOptions): Promise<KubeList<T>>;
  /**
   * Creates or changes an object by server-side apply: the given fields are managed by this controller, and fields it
   * no longer gives are removed. Objects of a kind that the controller `owns` get an owner reference to the reconciled
   * object. Sends nothing if the cached object has these values and the same configuration was applied before.
   */
  apply<T extends KubeObject>(object: Writable<T>, options?: ApplyOptions): Promise<Frozen<T>>;
  /** Creates an object. Rejects with `AlreadyExists` if the name is taken. Owned objects get an owner reference. */
  create<T extends KubeObject>(object: Writable<T>): Promise<T>;
  /**
   * Creates the object that `mutate` returns for a new one, or patches the existing one with the difference. `mutate`
   * gets a copy that it may change. Rejects with `Conflict` if the object was changed meanwhile.
   */
  createOrPatch<T extends AnyObject>(object: Writable<T>, mutate: (object: Mutable<T>) => void): Promise<Frozen<T>>;
  /**
   * Patches an object with the changes of `mutate`. Rejects with `Conflict` if the object was changed since it was
   * read. Sends nothing without a difference.
   */
  patch<T extends AnyObject>(object: Writable<T>, mutate: (object: Mutable<T>) => void): Promise<Frozen<T>>;
  /** Patches the status subresource in the same way as `patch`. */
  status<T extends AnyObject>(object: Writable<T>, ...changes: readonly StatusChange<T>[]): Promise<Frozen<T>>;
  /** Deletes an object. A missing object is no error. */
  delete(object: Writable, options?: DeleteObjectOptions): Promise<void>;
  /** Adds a finalizer if it is missing. */
  addFinalizer<T extends AnyObject>(object: Writable<T>, finalizer: string): Promise<Frozen<T>>;
  /** Removes a finalizer if it is present. A missing object is no error. */
  removeFinalizer<T extends AnyObject>(object: Writable<T>, finalizer: string): Promise<void>;
  /** The underlying client: for other patches, subresources, and requests by path. */
  readonly raw: Client;
}

export interface OperatorClientParts {
  readonly client: Client;
  readonly clock: Clock;
  readonly fieldManager: string;
  readonly resolver: KindResolver;
  readonly applied: AppliedConfigurations;
  readonly signal: AbortSignal;
  /** Returns the cached object with that kind and key, if the kind is cached. */
  cached(kind: Kind, key: {readonly namespace: string; readonly name: string}): Frozen<KubeObject> | undefined;
  /**
   * Returns the owner reference for objects of a kind, and the namespace of the owner; undefined for kinds that are not
   * owned.
   */
  ownerOf(kind: Kind): {readonly reference: OwnerReference; readonly namespace: string} | undefined;
}

const inNamespace = (namespace: string | undefined): {readonly namespace?: string} => (namespace ? {namespace} : {});

/** Metadata fields that only the server sets. */
const writtenByServer: ReadonlySet<string> = new Set([
  'managedFields',
  'resourceVersion',
  'uid',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
]);

/** Returns an object without status and without server-set metadata, ready to be applied. */
const configurationOf = <T extends KubeObject>(object: Writable<T>): T => {
  const {status: _, ...configuration} = object as Writable<T> & {readonly status?: unknown};
  const metadata = Object.fromEntries(Object.entries(object.metadata ?? {}).filter(([field]) => !writtenByServer.has(field)));
  return {...configuration, metadata} as unknown as T;
};

/** The client during one reconcile of a key. */
export class ReconcileClient implements OperatorClient {
  readonly raw: Client;
  readonly #parts: OperatorClientParts;
  readonly #write: {readonly fieldManager: string; readonly signal: AbortSignal};

  constructor(parts: OperatorClientParts) {
    this.#parts = parts;
    this.raw = parts.client;
    this.#write = {fieldManager: parts.fieldManager, signal: parts.signal};
  }

  async get<T extends KubeObject>(kind: Kind<T>, key: KeyLike): Promise<T | undefined> {
    const {namespace, name} = objectKey(key);
    return unlessMissing(this.raw.resource(kind).get(name, {...inNamespace(namespace), signal: this.#parts.signal}));
  }

  list<T extends KubeObject>(kind: Kind<T>, options: ListOptions = {}): Promise<KubeList<T>> {
    return this.raw.resource(kind).list({signal: this.#parts.signal, ...options});
  }

  async apply<T extends KubeObject>(object: Writable<T>, {force = true}: ApplyOptions = {}): Promise<Frozen<T>> {
    const {resolver, applied} = this.#parts;
    const kind = await resolver.kindOf<T>(object);
    const configuration = configurationOf(this.#owned(object, kind as Kind));
    const {namespace, name} = keyOf(configuration);
    const cached = this.#parts.cached(kind as Kind, {namespace, name});
    if (cached && applied.isApplied(kind as Kind, configuration, cached)) return cached as Frozen<T>;
    const options = {...inNamespace(namespace), ...this.#write, force};
    const result = await this.raw.resource(kind).patch(name, 'apply', configuration, options);
    applied.remember(kind as Kind, configuration, result);
    return result as Frozen<T>;
  }

  async create<T extends KubeObject>(object: Writable<T>): Promise<T> {
    const kind = await this.#parts.resolver.kindOf<T>(object);
    return this.raw.resource(kind).create(copyOf<T>(this.#owned(object, kind as Kind)), this.#write);
  }

  async createOrPatch<T extends AnyObject>(object: Writable<T>, mutate: (object: Mutable<T>) => void): Promise<Frozen<T>> {
    const kind: Kind = await this.#parts.resolver.kindOf(object);
    const present = this.#parts.cached(kind, keyOf(object)) ?? (await this.get(kind, keyOf(object)));
    if (present) return this.patch<T>(present as Writable<T>, mutate);
    return (await this.create(changed(object, mutate) as AnyObject)) as Frozen<T>;
  }

  patch<T extends AnyObject>(object: Writable<T>, mutate: (object: Mutable<T>) => void): Promise<Frozen<T>> {
    return this.#patched(object, changed(object, mutate));
  }

  async status<T extends AnyObject>(object: Writable<T>, ...changes: readonly StatusChange<T>[]): Promise<Frozen<T>> {
    const before = ((object as {status?: unknown}).status ?? {}) as Frozen<StatusOf<T>>;
    const context = {object: object as Frozen<T>, now: this.#parts.clock.now()};
    const after = changes.reduce((status, change) => change(status, context) as Frozen<StatusOf<T>>, before);
    return this.#patched(object, {...object, status: after} as Frozen<T>, 'status');
  }

  async delete(object: Writable, options: DeleteObjectOptions = {}): Promise<void> {
    const kind = await this.#parts.resolver.kindOf<KubeObject>(object);
    await unlessMissing(writerOf(this.raw, kind).delete(object, {signal: this.#parts.signal, ...options}));
  }

  addFinalizer<T extends AnyObject>(object: Writable<T>, finalizer: string): Promise<Frozen<T>> {
    return this.patch(object, copy => {
      const finalizers = copy.metadata?.finalizers ?? [];
      if (!finalizers.includes(finalizer)) copy.metadata = {...copy.metadata, finalizers: [...finalizers, finalizer]};
    });
  }

  async removeFinalizer<T extends AnyObject>(object: Writable<T>, finalizer: string): Promise<void> {
    const without = this.patch(object, ({metadata}) => {
      if (metadata?.finalizers?.includes(finalizer)) metadata.finalizers = metadata.finalizers.filter(each => each !== finalizer);
    });
    await unlessMissing(without);
  }

  #owned<T extends KubeObject>(object: Writable<T>, kind: Kind): Frozen<T> {
    const owner = this.#parts.ownerOf(kind);
    const references = (object.metadata?.ownerReferences ?? []) as readonly OwnerReference[];
    if (!owner || references.some(each => each.controller)) return object;
    const {reference, namespace} = owner;
    if (namespace && namespace !== keyOf(object).namespace)
      throw new Error(
        `${keyText(keyOf(object))} cannot be owned by ${reference.kind} ${namespace}/${reference.name}: owners are in the same namespace or in none`,
      );
    return {...object, metadata: {...object.metadata, ownerReferences: [...references, reference]}} as Frozen<T>;
  }

  async #patched<T extends AnyObject>(object: Writable<T>, next: Frozen<T>, subresource?: string): Promise<Frozen<T>> {
    const difference = createMergePatch(object as PlainObject, next as PlainObject) as {metadata?: object};
    if (Object.keys(difference).length === 0) return object;
    const kind = await this.#parts.resolver.kindOf(object);
    const {resourceVersion, uid} = object.metadata ?? {};
    const metadata = {...difference.metadata, ...(resourceVersion ? {resourceVersion} : {}), ...(uid ? {uid} : {})};
    const {namespace, name} = keyOf(object);
    const options = {...inNamespace(namespace), ...this.#write, ...(subresource ? {subresource} : {})};
    return (await this.raw.resource(kind).patch(name, 'merge', {...difference, metadata}, options)) as Frozen<T>;
  }
}

/** Returns the result of `mutate` on a copy of an object. */
const changed = <T extends AnyObject>(object: Writable<T>, mutate: (object: Mutable<T>) => void): Frozen<T> => {
  const copy = copyOf(object as AnyObject) as Mutable<T>;
  mutate(copy);
  return copy as Frozen<T>;
};
