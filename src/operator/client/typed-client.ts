// The client of operators over the verbs of each kind: it takes kinds from handles or from the objects themselves,
// sends only differences, skips writes without changes, and tells what writes did.

import {sameJson} from '#src/api/equal.js';
import {copyOf, keyOf, keyText, type Frozen, type ObjectKey} from '#src/api/key.js';
import {apiVersionOf, type Kind} from '#src/api/kinds/index.js';
import {isForbidden} from '#src/api/status.js';
import type {KubeObject, OwnerReference} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Client as ResourceClients, ListOptions} from '#src/client/client.js';
import {unlessMissing} from '#src/client/missing.js';
import {inNamespace} from '#src/client/in-namespace.js';
import {writerOf} from '#src/runtime/writer.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import {createMergePatch} from '#src/schema/patch/merge-patch.js';
import type {AppliedConfigurations} from './applied.js';
import {bodyOf, configurationOf} from './bodies.js';
import type {ApplyOptions, Client, DeleteKeyOptions, DeleteObjectOptions, GetOptions, SubresourceOptions, WriteOptions} from './client.js';
import {objectKey, type KeyLike} from './keys.js';
import type {KindResolver} from './kind-resolver.js';
import type {AnyObject, Configuration, Mutable, NewObject, StatusConfiguration, Stored, StoredList, Written} from './objects.js';
import type {StatusChange} from './status-change.js';

/** What a client does beyond its requests during the reconcile of a key. */
export interface ReconcileParts {
  readonly applied: AppliedConfigurations;
  /** Returns what the cache has under that kind and key; undefined if it cannot have it. */
  cached(kind: Kind, key: ObjectKey): {readonly object: Frozen<KubeObject> | undefined} | undefined;
  /**
   * Returns the owner reference for objects of a kind, and the namespace of the owner; undefined for kinds that are not
   * owned.
   */
  ownerOf(kind: Kind): {readonly reference: OwnerReference; readonly namespace: string} | undefined;
}

export interface TypedClientParts {
  readonly client: ResourceClients;
  readonly clock: Clock;
  readonly fieldManager: string;
  readonly resolver: KindResolver;
  /** Aborts all requests that have no signal of their own. */
  readonly signal?: AbortSignal;
  readonly reconcile?: ReconcileParts;
  /** Returns the client of another cluster; undefined for an unknown name. */
  cluster?(name: string): Client | undefined;
}

const isKind = (value: object): value is Kind => 'plural' in value && 'listKind' in value;

export class TypedClient implements Client {
  readonly naming: ResourceClients['naming'];
  readonly watchList: ResourceClients['watchList'];
  readonly isProbed: ResourceClients['isProbed'];
  readonly resource: ResourceClients['resource'];
  readonly metadata: ResourceClients['metadata'];
  readonly request: ResourceClients['request'];
  readonly #parts: TypedClientParts;
  readonly #defaults: {readonly fieldManager: string; readonly signal?: AbortSignal};

  constructor(parts: TypedClientParts) {
    const {client, fieldManager, signal} = parts;
    this.#parts = parts;
    this.#defaults = {fieldManager, ...(signal ? {signal} : {})};
    this.naming = client.naming;
    this.watchList = client.watchList;
    this.isProbed = client.isProbed;
    this.resource = kind => client.resource(kind);
    this.metadata = kind => client.metadata(kind);
    this.request = (...call) => client.request(...call);
  }

  async get<T extends KubeObject>(
    kind: Kind<T>,
    key: KeyLike,
    options: GetOptions & {readonly subresource?: string} = {},
  ): Promise<Stored<T> | undefined> {
    const {namespace, name} = objectKey(key);
    return (await unlessMissing(this.resource(kind).get(name, {...this.#cancelled, ...options, ...inNamespace(namespace)}))) as
      | Stored<T>
      | undefined;
  }

  async list<T extends KubeObject>(kind: Kind<T>, options: ListOptions = {}): Promise<StoredList<T>> {
    const {metadata = {}, items} = await this.resource(kind).list({...this.#cancelled, ...options});
    // The server leaves out the kind of the items of a list.
    const own = {apiVersion: apiVersionOf(this.naming, kind as Kind), kind: kind.kind};
    return {metadata, items: items.map(item => (item.kind && item.apiVersion ? item : {...own, ...item}) as Stored<T>)} as StoredList<T>;
  }

  async create<T extends KubeObject, B extends KubeObject>(
    kind: Kind<T>,
    body: NewObject<T> | Frozen<B>,
    options: WriteOptions | SubresourceOptions = {},
  ): Promise<Stored<T> & B> {
    if ('of' in options) return (await this.#sent(kind as Kind, 'create', body as Frozen<B>, options)) as Stored<T> & B;
    const object = copyOf<T>(this.#owned(bodyOf(this.naming, kind as Kind, body as AnyObject), kind as Kind) as Frozen<T>);
    return (await this.resource(kind).create(object, {...this.#defaults, ...options})) as Stored<T> & B;
  }

  async apply<T extends KubeObject>(
    kind: Kind<T>,
    given: Configuration<T> | StatusConfiguration<T>,
    {force = true, ...options}: ApplyOptions = {},
  ): Promise<Written<T>> {
    const {subresource} = options;
    const body = configurationOf(this.naming, kind as Kind, given as AnyObject, {keepsStatus: subresource === 'status'});
    const configuration = subresource ? body : this.#owned(body, kind as Kind);
    const key = keyOf(configuration);
    const known = this.#parts.reconcile?.cached(kind as Kind, key);
    const cached = known?.object;
    // Only for what a reconcile applies again and again: what is sent under special conditions is always sent.
    const applied = Object.keys(options).length === 0 ? this.#parts.reconcile?.applied : undefined;
    if (cached && applied?.isApplied(kind as Kind, configuration, cached)) return {outcome: 'unchanged', object: cached as Stored<T>};
    const before = known ? cached : await this.#readable(kind as Kind, key, options);
    const {isNew, object} = await this.resource(kind).apply(key.name, configuration, {
      ...this.#defaults,
      ...options,
      ...inNamespace(key.namespace),
      force,
    });
    applied?.remember(kind as Kind, configuration, object);
    const outcome = isNew ? 'created' : isSame(before, object, options) ? 'unchanged' : 'changed';
    return {outcome, object: object as Stored<T>};
  }

  async createOrPatch<T extends KubeObject>(
    kind: Kind<T>,
    object: NewObject<T>,
    mutate: (draft: Mutable<T>) => void,
    options: WriteOptions = {},
  ): Promise<Written<T>> {
    const body = bodyOf(this.naming, kind as Kind, object as AnyObject);
    const key = keyOf(body);
    const present = (this.#parts.reconcile?.cached(kind as Kind, key)?.object ?? (await this.get(kind, key))) as Stored<T> | undefined;
    if (!present)
      return {
        outcome: 'created',
        object: await this.create<T, never>(kind, changed(body as Stored<T>, mutate) as unknown as NewObject<T>, options),
      };
    const after = await this.patch<T>(present, mutate, options);
    return {outcome: isSame(present as AnyObject, after as AnyObject, options) ? 'unchanged' : 'changed', object: after};
  }

  async update<T extends KubeObject, B extends KubeObject>(
    kind: Kind<T>,
    object: Frozen<T> | Frozen<B>,
    options: WriteOptions | SubresourceOptions = {},
  ): Promise<Stored<T> & B> {
    if ('of' in options) return (await this.#sent(kind as Kind, 'update', object as Frozen<B>, options)) as Stored<T> & B;
    const body = bodyOf(this.naming, kind as Kind, object as AnyObject);
    return (await this.resource(kind).update(body as T, {...this.#defaults, ...options})) as Stored<T> & B;
  }

  patch<T extends KubeObject>(object: Stored<T>, mutate: (draft: Mutable<T>) => void, options: WriteOptions = {}): Promise<Stored<T>> {
    return this.#patched(object, changed(object, mutate), options);
  }

  async status<T extends KubeObject>(
    object: Stored<T>,
    ...given: readonly StatusChange<T>[] | readonly [readonly StatusChange<T>[], WriteOptions]
  ): Promise<Stored<T>> {
    const [first, second] = given;
    const isList = Array.isArray(first);
    const changes = (isList ? first : given) as readonly StatusChange<T>[];
    const context = {object, now: this.#parts.clock.now()};
    const before = (object as {readonly status?: object}).status ?? {};
    const after = changes.reduce((status: object, change) => {
      const draft = copyOf<KubeObject>(status as AnyObject);
      return change(draft as Parameters<StatusChange<T>>[0], context) ?? draft;
    }, before);
    const options = isList ? (second as unknown as WriteOptions) : {};
    return this.#patched(object, {...object, status: after} as Stored<T>, {...options, subresource: 'status'});
  }

  async delete(of: AnyObject | Kind, second?: KeyLike | DeleteObjectOptions, third: DeleteKeyOptions = {}): Promise<void> {
    if (isKind(of)) {
      const {namespace, name} = objectKey(second as KeyLike);
      await unlessMissing(this.resource(of).delete(name, {...this.#cancelled, ...third, ...inNamespace(namespace)}));
      return;
    }
    const kind = await this.#parts.resolver.kindOf<KubeObject>(of);
    const {resource} = this;
    await unlessMissing(writerOf({resource}, kind).delete(of, {...this.#cancelled, ...(second as DeleteObjectOptions | undefined)}));
  }

  cluster(name: string): Client {
    const found = this.#parts.cluster?.(name);
    if (!found) throw new Error(`there is no cluster "${name}" in the manager of this client`);
    return found;
  }

  addFinalizer<T extends KubeObject>(object: Stored<T>, finalizer: string, options: WriteOptions = {}): Promise<Stored<T>> {
    const {finalizers = []} = (object as AnyObject).metadata ?? {};
    if (finalizers.includes(finalizer)) return Promise.resolve(object);
    return this.#patched(object, withFinalizers(object, [...finalizers, finalizer]), options);
  }

  async removeFinalizer<T extends KubeObject>(object: Stored<T>, finalizer: string, options: WriteOptions = {}): Promise<void> {
    const {finalizers = []} = (object as AnyObject).metadata ?? {};
    if (!finalizers.includes(finalizer)) return;
    const rest = finalizers.filter(each => each !== finalizer);
    await unlessMissing(this.#patched(object, withFinalizers(object, rest), options));
  }

  get #cancelled(): {readonly signal?: AbortSignal} {
    const {signal} = this.#defaults;
    return signal ? {signal} : {};
  }

  /** Reads an object if that is allowed: an operator may have the right to write alone. */
  async #readable(kind: Kind, key: ObjectKey, {signal}: WriteOptions): Promise<AnyObject | undefined> {
    try {
      return await this.get(kind, key, signal ? {signal} : {});
    } catch (error) {
      if (isForbidden(error)) return undefined;
      throw error;
    }
  }

  /** Sends the body of a subresource as it is. */
  #sent(kind: Kind, verb: 'create' | 'update', body: AnyObject, {of, ...options}: SubresourceOptions): Promise<KubeObject> {
    const {namespace, name} = objectKey(of);
    const resource = this.resource(kind);
    const sent = copyOf<KubeObject>(body);
    if (verb === 'create') return resource.create(sent, {...this.#defaults, ...options, ...inNamespace(namespace), name});
    const named = {...sent, metadata: {...sent.metadata, name, ...inNamespace(namespace)}};
    return resource.update(named, {...this.#defaults, ...options});
  }

  #owned(object: AnyObject, kind: Kind): AnyObject {
    const owner = this.#parts.reconcile?.ownerOf(kind);
    const references = object.metadata?.ownerReferences ?? [];
    if (!owner || references.some(each => each.controller)) return object;
    const {reference, namespace} = owner;
    if (namespace && namespace !== keyOf(object).namespace)
      throw new Error(
        `${keyText(keyOf(object))} cannot be owned by ${reference.kind} ${namespace}/${reference.name}: owners are in the same namespace or in none`,
      );
    return {...object, metadata: {...object.metadata, ownerReferences: [...references, reference]}};
  }

  async #patched<T extends KubeObject>(object: Stored<T>, next: Stored<T>, options: WriteOptions): Promise<Stored<T>> {
    const difference = createMergePatch(object as unknown as PlainObject, next as unknown as PlainObject) as {metadata?: object};
    if (Object.keys(difference).length === 0) return object;
    const kind = await this.#parts.resolver.kindOf<T>(object);
    const {resourceVersion, uid} = object.metadata;
    const metadata = {...difference.metadata, ...(resourceVersion ? {resourceVersion} : {}), ...(uid ? {uid} : {})};
    const {namespace, name} = keyOf(object as AnyObject);
    const sent = {...this.#defaults, ...options, ...inNamespace(namespace)};
    return (await this.resource(kind).patch(name, 'merge', {...difference, metadata}, sent)) as Stored<T>;
  }
}

/** Returns whether a write changed nothing. A dry run has no version, and is told by the content. */
const isSame = (before: AnyObject | undefined, after: AnyObject, {dryRun}: WriteOptions): boolean => {
  if (!before || before.metadata?.uid !== after.metadata?.uid) return false;
  return dryRun ? sameJson(contentOf(before), contentOf(after)) : before.metadata?.resourceVersion === after.metadata?.resourceVersion;
};

const contentOf = (object: AnyObject): unknown => {
  const {managedFields: _, resourceVersion: __, generation: ___, ...metadata} = object.metadata ?? {};
  return {...object, metadata};
};

const withFinalizers = <T extends KubeObject>(object: Stored<T>, finalizers: readonly string[]): Stored<T> => ({
  ...object,
  metadata: {...object.metadata, finalizers},
});

/** Returns the result of `mutate` on a copy of an object. */
const changed = <T extends KubeObject>(object: Stored<T>, mutate: (draft: Mutable<T>) => void): Stored<T> => {
  const copy = copyOf<KubeObject>(object as AnyObject) as Mutable<T>;
  mutate(copy);
  return copy as unknown as Stored<T>;
};
