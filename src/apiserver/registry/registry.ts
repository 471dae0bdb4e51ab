// The registry: all resources of a server, built-in and custom, with their keys, settings and caches. It maps group,
// version and plural to a resource and notifies listeners when the served resources change. Reads and writes of objects
// are in the other modules of this folder; it never calls them.

import type {Eventually} from '#src/base/eventually.js';
import type {Authorizer} from '#src/api/authorization.js';
import type {FieldError} from '#src/api/field-error.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {ResourceRef} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {UserInfo} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import {ownValue} from '#src/base/own.js';
import type {Random} from '#src/base/random.js';
import {storagePath} from '#src/resources/storage-path.js';
import type {Endpoint, HookContext, ResourceDefinition, ServedVersion} from '#src/resources/definition.js';
import type {YamlReader} from '#src/schema/decode/yaml-reader.js';
import type {SchemaNode} from '#src/schema/node.js';
import type {Schemas, SchemaSource} from '#src/schema/builtin/schemas.js';
import {endOfPrefix, type Store} from '#src/storage/store.js';
import type {AdmissionAttributes, OriginalRequest} from '#src/apiserver/admission/admission.js';
import type {CborEncoding} from '#src/apiserver/request/cbor-encoding.js';
import type {Leases} from './leases.js';
import {measuredStore} from './measured-store.js';
import {longRecordBytes, ObjectCache} from './object-cache.js';
import {RemainingCounts} from './remaining-counts.js';
import {recordObject, partialRecordObject} from './record.js';
import {CollectionAttributes, type SelectionCache} from './selection-cache.js';
import {rowTextOf} from './row-text.js';
import type {WriteServices} from './write-services.js';

/** The settings and services of a registry; one per server. */
export interface RegistrySettings {
  readonly store: Store;
  readonly naming: Naming;
  readonly schemas: Schemas;
  /** Present if CBOR is enabled. */
  readonly cbor: CborEncoding | undefined;
  /** Parses request bodies in YAML. */
  readonly yaml: YamlReader;
  readonly clock: Clock;
  readonly random: Random;
  /** First part of all keys, for example `/registry`. */
  readonly prefix: string;
  gate(name: string): boolean;
  readonly allowPrivileged: boolean;
  readonly authorizer: Authorizer;
  readonly leases: Leases;
  readonly eventTtlSeconds: number;
  readonly garbageCollector: boolean;
  readonly deleteCollectionWorkers: number;
  readonly meter: Meter;
  /** Logs requests to the store at high verbosity. */
  readonly log: Log;
  /** The shared bound of the cached attributes for selectors and tables. */
  readonly selection: SelectionCache;
  /** Whether a resource has a watch cache: then a list at any version ignores its limit. */
  isCached(resource: ResourceRef): boolean;
  /** Whether a version of a kind is served; objects may be stored in one that is not. */
  serves(kind: Kind): boolean;
  /** Returns the version in which objects of a kind are stored, as published to clients and other servers. */
  storedKind(definition: ResourceDefinition): Kind;
  /** Admission and pools, once the server takes writes. */
  readonly writes: WriteServices;
}

/**
 * The settings of one resource. Custom resources have schemas of their own, and a store that translates records to
 * their version.
 */
export type ResourceSettings = Omit<RegistrySettings, 'schemas'> & {
  readonly schemas: SchemaSource;
  readonly siblings?: Siblings;
  /** Returns the value that a read yields after a write. Present for stores that translate records. */
  readBack?(key: string, written: Buffer, revision: number): Eventually<Buffer>;
  /**
   * Returns the value that a read would yield after a write, for dry runs. Present for stores that translate records.
   */
  wouldReadBack?(value: Buffer): Eventually<Buffer>;
};

/** The versions of a custom resource, each of which is a resource of its own. */
export interface Siblings {
  /** Returns all served versions, including the resource's own. */
  served(): readonly ServedResource[];
  /** Returns the schema of a version, served or not. */
  schemaOf(apiVersion: string): SchemaNode | undefined;
  /** Returns an object in another version. The caller must not use the passed object afterwards. */
  convert(object: KubeObject, apiVersion: string): Eventually<KubeObject>;
}

/** The user and the options of a write. */
export interface WriteContext {
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** The version and resource in the request's URL, for admission. */
  readonly served: Kind;
  /** The field manager; may be empty. */
  readonly manager: string;
  /** Absent for writes of the server itself. */
  readonly original?: OriginalRequest | undefined;
  readonly ofCollection?: boolean;
  /** Whether admission is skipped, because it ran for the request that this write is part of. */
  readonly isAdmitted?: boolean;
  /** Whether the managed fields of the object are already computed, as for an apply. */
  readonly isOwnershipRecorded?: boolean;
  warn(text: string): void;
  /** Annotates the request's audit event; absent if there is none. */
  readonly annotate?: AdmissionAttributes['annotate'] | undefined;
}

/** Returns the group and resource for errors and metrics. */
export const refOf = ({kind}: ResourceDefinition, {naming}: Pick<RegistrySettings, 'naming'>): ResourceRef => ({
  group: naming.group(kind.group),
  resource: kind.plural,
});

/** Returns the prefix of all keys of a kind. */
export const rootOf = (definition: ResourceDefinition, {prefix, naming}: Pick<RegistrySettings, 'prefix' | 'naming'>): string =>
  `${prefix}/${storagePath(definition, naming)}/`;

/** What follows the objects of a resource inside the server. */
export interface Follower {
  /** Resolves once it has handled the changes that were delivered until now; undefined if it has. */
  takenIn(): Promise<void> | undefined;
}

/** From `start` inclusive to `end` exclusive. */
interface KeyRange {
  readonly start: string;
  readonly end: string;
}

/** One kind in the store: its definition, its keys, and the cache of its parsed objects. */
export class Resource {
  readonly definition: ResourceDefinition;
  readonly settings: ResourceSettings;
  readonly objects = new ObjectCache();
  readonly remainingCounts = new RemainingCounts();
  readonly followers = new Set<Follower>();
  /** The cached attributes of its objects for selectors and tables. */
  readonly attributes: CollectionAttributes;
  /** The getters of the selectable fields of all versions. */
  readonly getters: readonly ((object: Readonly<KubeObject>) => string)[];
  /** The prefix of all keys of the kind. */
  readonly root: string;
  readonly apiVersion: string;
  readonly ref: ResourceRef;
  #range: (KeyRange & {readonly namespace: string}) | undefined;

  constructor(definition: ResourceDefinition, settings: ResourceSettings) {
    this.definition = definition;
    this.settings = settings;
    this.apiVersion = settings.naming.apiVersion(definition.kind.group, definition.kind.version);
    this.ref = refOf(definition, settings);
    const fields = [
      definition.selection?.fields,
      ...(definition.served?.otherVersions ?? []).map(({selectableFields}) => selectableFields),
    ];
    this.getters = [...new Set(fields.flatMap(getters => Object.values(getters ?? {})))];
    this.attributes = new CollectionAttributes(settings.selection, {
      getters: this.getters,
      parse: ({key, value, revision}) => this.objects.peek(key, revision) ?? recordObject(value, revision),
      // A custom resource may have more fields than a partial object keeps.
      parseFields: ({key, value, revision}) =>
        this.objects.peek(key, revision) ??
        (value.length < longRecordBytes || definition.custom ? recordObject(value, revision) : partialRecordObject(value)),
      row: object => rowTextOf(definition, object, settings.naming),
    });
    this.root = rootOf(definition, settings);
  }

  get kind(): Kind {
    return this.definition.kind;
  }

  /** Whether the kind is defined at runtime. */
  get isCustom(): boolean {
    return this.definition.custom !== undefined;
  }

  /** Empties the caches of objects: the data of the store were replaced. */
  forget(): void {
    this.objects.clear();
    this.attributes.clear();
  }

  /**
   * Resolves once all followers have handled the changes that were delivered until now; undefined if they have, as they
   * have of all short objects.
   */
  takenIn(): Promise<unknown> | undefined {
    if (this.followers.size === 0) return undefined;
    const behind = [...this.followers].flatMap(follower => follower.takenIn() ?? []);
    return behind.length > 0 ? Promise.all(behind) : undefined;
  }

  /** Returns how an address is written: the main one, or a subresource that the kind has. */
  endpoint(subresource: string): Endpoint<KubeObject> {
    return subresource ? ownValue(this.definition.subresources, subresource)! : this.definition.main;
  }

  key(namespace: string, name: string): string {
    return this.kind.namespaced ? `${this.root}${namespace}/${name}` : `${this.root}${name}`;
  }

  /** Returns the namespace and name in a key. */
  parseKey(key: string): {readonly namespace: string; readonly name: string} {
    const slash = key.lastIndexOf('/');
    return {namespace: this.kind.namespaced ? key.slice(this.root.length, slash) : '', name: key.slice(slash + 1)};
  }

  /** Returns the prefix of the keys of one namespace, or of all if it is empty. */
  prefixOf(namespace: string): string {
    return this.kind.namespaced && namespace ? `${this.root}${namespace}/` : this.root;
  }

  /**
   * Returns the range of the keys of one namespace, or of all if it is empty. The last one is kept: each write in a
   * namespace asks for some.
   */
  rangeOf(namespace: string): KeyRange {
    if (this.#range?.namespace !== namespace) {
      const start = this.prefixOf(namespace);
      this.#range = {namespace, start, end: endOfPrefix(start)};
    }
    return this.#range;
  }

  /** Returns the group and resource for errors of requests for one version: events are in two groups. */
  refIn(served: Kind): ResourceRef {
    return served.group === this.kind.group ? this.ref : {group: this.settings.naming.group(served.group), resource: served.plural};
  }

  /** Returns the errors of a write by the rules that its version adds to the hub's. */
  versionErrors(served: Kind, object: KubeObject, old: Readonly<KubeObject> | undefined, hooks: HookContext): Iterable<FieldError> {
    return this.definition.served?.otherVersions?.find(({kind}) => kind === served)?.validate?.(object, old, hooks) ?? [];
  }

  /** Returns the context of the definition's functions. `warn` adds a warning to the response, if there is one. */
  hooks(user: UserInfo, warn: HookContext['warn'] = () => undefined, served: Kind = this.kind): HookContext {
    const {naming, clock, random, gate, allowPrivileged} = this.settings;
    return {naming, clock, random, user, gate, served, warn, allowPrivileged};
  }
}

/** A resource under one of its versions, as a URL addresses it. */
export interface ServedResource {
  readonly resource: Resource;
  readonly kind: Kind;
  /** Absent for the hub. */
  readonly version?: ServedVersion<KubeObject>;
}

/** The resources of custom resource definitions. */
export interface CustomResources {
  find(group: string, version: string, plural: string): ServedResource | undefined;
  served(): readonly ServedResource[];
  /** Resolves once the stored definition is served. */
  waitUntilServed(group: string, plural: string): Promise<void>;
}

/** All resources of the server, by group on the wire, version and plural. */
export class Registry {
  readonly settings: RegistrySettings;
  readonly #served = new Map<string, ServedResource>();
  /** The same by plural: no key has to be made to find one. */
  readonly #byPlural = new Map<string, {readonly group: string; readonly served: ServedResource}[]>();
  readonly #groups = new Set<string>();
  readonly #known = new Map<string, Resource>();
  readonly #resources: Resource[] = [];
  #custom: CustomResources | undefined;
  readonly #listeners = new Set<() => void>();

  constructor(definitions: readonly ResourceDefinition[], settings: RegistrySettings) {
    this.settings = settings;
    for (const definition of definitions) {
      const store = measuredStore(settings.store, rootOf(definition, settings), refOf(definition, settings), settings);
      const resource = new Resource(definition, {...settings, store});
      this.#resources.push(resource);
      this.#add({resource, kind: definition.kind});
      for (const version of definition.served?.otherVersions ?? []) this.#add({resource, kind: version.kind, version});
    }
    settings.store.continuity?.onReplaced(() => {
      for (const resource of new Set([...this.#resources, ...this.served.map(served => served.resource)])) resource.forget();
    });
  }

  /** Adds the custom resources. */
  extend(custom: CustomResources): void {
    this.#custom = custom;
  }

  /** Notifies the listeners that the served resources have changed. */
  notifyChange(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Calls `listener` whenever the served resources have changed. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  find(group: string, version: string, plural: string): ServedResource | undefined {
    const found = this.#byPlural.get(plural)?.find(({group: own, served}) => own === group && served.kind.version === version);
    if (found) return found.served;
    return this.#custom?.find(group, version, plural);
  }

  /** Whether a group, by its name on the wire, is built in and served. */
  hasGroup(group: string): boolean {
    return this.#groups.has(group);
  }

  /** Resolves once the stored definition of a custom resource is served. */
  waitUntilServed(group: string, plural: string): Promise<void> {
    return this.#custom?.waitUntilServed(group, plural) ?? Promise.resolve();
  }

  /** Returns the resource of a kind, served or not. Throws if there is none, which is a programming error. */
  of(kind: Kind): Resource {
    const found =
      this.#known.get(this.#address(kind)) ??
      this.#custom?.find(this.settings.naming.group(kind.group), kind.version, kind.plural)?.resource;
    if (!found) throw new Error(`${kind.plural} is no resource`);
    return found;
  }

  /** Whether a kind is served. */
  serves(kind: Kind): boolean {
    return this.#served.has(this.#address(kind));
  }

  /** Resolves once all followers of built-in resources have handled the changes that were delivered until now. */
  async takenIn(): Promise<void> {
    await Promise.all(this.#resources.map(resource => resource.takenIn()));
  }

  /** The built-in resources. */
  get resources(): readonly Resource[] {
    return this.#resources;
  }

  /** The served built-in resources. */
  get builtIn(): readonly ServedResource[] {
    return [...this.#served.values()];
  }

  /** The served versions of custom resources. */
  get custom(): readonly ServedResource[] {
    return this.#custom?.served() ?? [];
  }

  get served(): readonly ServedResource[] {
    return [...this.#served.values(), ...this.custom];
  }

  #add(served: ServedResource): void {
    const address = this.#address(served.kind);
    this.#known.set(address, served.resource);
    if (!served.resource.definition.served?.needs && !this.settings.serves(served.kind)) return;
    this.#served.set(address, served);
    const group = this.settings.naming.group(served.kind.group);
    this.#byPlural.set(served.kind.plural, [...(this.#byPlural.get(served.kind.plural) ?? []), {group, served}]);
    this.#groups.add(group);
  }

  #address({group, version, plural}: Kind): string {
    return `${this.settings.naming.group(group)}/${version}/${plural}`;
  }
}
