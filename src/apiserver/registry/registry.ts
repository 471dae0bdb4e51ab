import type {Authorizer} from '#src/api/authorization.js';
import type {FieldError} from '#src/api/field-error.js';
import type {Kind} from '#src/api/kinds.js';
import type {Naming} from '#src/api/naming.js';
import type {ResourceRef} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {UserInfo} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import type {HookContext, ResourceDefinition, ServedVersion} from '#src/resources/definition.js';
import {emptiedOf} from '#src/schema/decode/emptied.js';
import type {YamlThread} from '#src/schema/decode/yaml-thread.js';
import type {SchemaNode} from '#src/schema/node.js';
import type {Schemas, SchemaSource} from '#src/schema/schemas.js';
import type {Eventually, Store} from '#src/storage/store.js';
import type {OriginalRequest} from '#src/apiserver/admission/admission.js';
import type {CborEncoding} from '#src/apiserver/request/cbor-encoding.js';
import type {Leases} from './leases.js';
import {measuredStore} from './measured-store.js';
import {longRecordBytes, ObjectCache} from './object-cache.js';
import {recordObject, recordSketch} from './record.js';
import {CollectionAttributes, type SelectionCache} from './selection-cache.js';
import {rowTextOf} from './row-text.js';
import type {WriteServices} from './write-services.js';

/** What the generic machinery works with; one for a server. */
export interface RegistrySettings {
  readonly store: Store;
  readonly naming: Naming;
  readonly schemas: Schemas;
  /** Where objects are told and taken as CBOR too. */
  readonly cbor: CborEncoding | undefined;
  /** What reads bodies in YAML. */
  readonly yaml: YamlThread;
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
  /** Where work of the store is told of, for those who ask for it. */
  readonly log: Log;
  /** What selectors and tables look at, beside the objects of all resources. */
  readonly selection: SelectionCache;
  /** Whether a resource is read as from a cache: then a list that takes any version is told whole, whatever its limit. */
  isCached(resource: ResourceRef): boolean;
  /** Whether a version of a kind has an address; objects may be stored in a version that has none. */
  serves(kind: Kind): boolean;
  /** The version in which objects of a kind are stored, as clients and other servers are told. */
  storedKind(definition: ResourceDefinition): Kind;
  /** Admission and pools, once the server takes writes. */
  readonly writes: WriteServices;
}

/** What one resource works with: those of custom resources have schemas of their own, and a store that shows records as their version sees them. */
export type ResourceSettings = Omit<RegistrySettings, 'schemas'> & {
  readonly schemas: SchemaSource;
  readonly siblings?: Siblings;
  /** What is read where a value was written, when that may be something else. */
  shownAs?(key: string, written: Buffer, revision: number): Eventually<Buffer>;
  /** Returns what would be read after a value was written; undefined if that is the value itself. */
  wouldShow?(value: Buffer): Eventually<Buffer>;
};

/** The same objects in other versions, where each version is a resource of its own. */
export interface Siblings {
  /** All versions that are served, the resource's own among them. */
  served(): readonly ServedResource[];
  /** The schema of a version, be it served or not. */
  schemaOf(apiVersion: string): SchemaNode | undefined;
  /** An object in another version; it is handed over for good. */
  convert(object: KubeObject, apiVersion: string): Eventually<KubeObject>;
}

/** Who writes, and how. */
export interface WriteContext {
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** Version and name of the request's URL, for admission. */
  readonly served: Kind;
  /** The name under which the writer owns what it writes; empty for one without. */
  readonly manager: string;
  /** Absent for what the server does by itself. */
  readonly original?: OriginalRequest | undefined;
  readonly ofCollection?: boolean;
  /** Whether admission has been asked about the request that this is part of, and is not asked again. */
  readonly isAdmitted?: boolean;
  /** Whether the object comes with its record of who owns what, as it does from an apply. */
  readonly ownershipStated?: boolean;
  warn(text: string): void;
}

/** A resource as errors and metrics name it. */
export const refOf = ({kind}: ResourceDefinition, {naming}: Pick<RegistrySettings, 'naming'>): ResourceRef => ({group: naming.group(kind.group), resource: kind.plural});

/** One kind in the store: its definition, its keys, and the parsed objects everyone shares. */
export class Resource {
  readonly definition: ResourceDefinition;
  readonly settings: ResourceSettings;
  readonly objects = new ObjectCache();
  /** What selectors and tables look at of its objects. */
  readonly attributes: CollectionAttributes;
  /** The getters of the fields that any of its versions can be selected by. */
  readonly getters: readonly ((object: Readonly<KubeObject>) => string)[];
  /** All keys of the kind begin with this. */
  readonly root: string;
  readonly apiVersion: string;
  readonly ref: ResourceRef;

  constructor(definition: ResourceDefinition, settings: ResourceSettings) {
    this.definition = definition;
    this.settings = settings;
    this.apiVersion = settings.naming.apiVersion(definition.kind.group, definition.kind.version);
    this.ref = refOf(definition, settings);
    const fields = [definition.selectableFields, ...(definition.otherVersions ?? []).map(({selectableFields}) => selectableFields)];
    this.getters = [...new Set(fields.flatMap(getters => Object.values(getters ?? {})))];
    this.attributes = new CollectionAttributes(settings.selection, {
      getters: this.getters,
      parse: ({key, value, revision}) => this.objects.peek(key, revision) ?? recordObject(value, revision),
      // Fields of custom resources may be among very many.
      parseFields: ({key, value, revision}) => this.objects.peek(key, revision) ?? (value.length < longRecordBytes || definition.custom ? recordObject(value, revision) : recordSketch(value)),
      row: object => rowTextOf(definition, object, settings.naming),
    });
    this.root = `${settings.prefix}/${definition.storedUnderGroup ? `${this.ref.group}/` : ''}${definition.storedAs ?? definition.kind.plural}/`;
  }

  get kind(): Kind {
    return this.definition.kind;
  }

  key(namespace: string, name: string): string {
    return this.kind.namespaced ? `${this.root}${namespace}/${name}` : `${this.root}${name}`;
  }

  /** The object a key is of. */
  placeOf(key: string): {readonly namespace: string; readonly name: string} {
    const slash = key.lastIndexOf('/');
    return {namespace: this.kind.namespaced ? key.slice(this.root.length, slash) : '', name: key.slice(slash + 1)};
  }

  /** The keys of one namespace, or of all. */
  prefixOf(namespace: string): string {
    return this.kind.namespaced && namespace ? `${this.root}${namespace}/` : this.root;
  }

  /** As errors name it that answer a request for one of its versions: events are in two groups. */
  refIn(served: Kind): ResourceRef {
    return served.group === this.kind.group ? this.ref : {group: this.settings.naming.group(served.group), resource: served.plural};
  }

  /** What is wrong with a write by the rules that its version adds to the hub's. */
  versionErrors(served: Kind, object: KubeObject, old: Readonly<KubeObject> | undefined, hooks: HookContext): Iterable<FieldError> {
    return this.definition.otherVersions?.find(({kind}) => kind === served)?.validate?.(object, old, hooks) ?? [];
  }

  /** `warn` is heard by who sent the request, if anybody; `incoming` is the object as it was sent. */
  hooks(user: UserInfo, warn: HookContext['warn'] = () => undefined, served: Kind = this.kind, incoming?: KubeObject): HookContext {
    const {naming, clock, random, gate, allowPrivileged} = this.settings;
    return {naming, clock, random, user, gate, served, warn, allowPrivileged, emptied: emptiedOf(incoming)};
  }
}

/** A resource under one of its versions, as a URL addresses it. */
export interface ServedResource {
  readonly resource: Resource;
  readonly kind: Kind;
  /** Absent for the hub. */
  readonly version?: ServedVersion<KubeObject>;
}

/** The resources that are defined while the server runs. */
export interface CustomResources {
  find(group: string, version: string, plural: string): ServedResource | undefined;
  served(): readonly ServedResource[];
  /** Resolves once what is stored of a definition is served. */
  caughtUp(group: string, plural: string): Promise<void>;
}

/** Every resource the server serves, found by group on the wire, version and plural. */
export class Registry {
  readonly settings: RegistrySettings;
  readonly #served = new Map<string, ServedResource>();
  readonly #groups = new Set<string>();
  readonly #known = new Map<string, Resource>();
  readonly #resources: Resource[] = [];
  #custom: CustomResources | undefined;
  readonly #listeners = new Set<() => void>();

  constructor(definitions: readonly ResourceDefinition[], settings: RegistrySettings) {
    this.settings = settings;
    for (const definition of definitions) {
      const resource = new Resource(definition, {...settings, store: measuredStore(settings.store, refOf(definition, settings), settings)});
      this.#resources.push(resource);
      this.#add({resource, kind: definition.kind});
      for (const version of definition.otherVersions ?? []) this.#add({resource, kind: version.kind, version});
    }
  }

  /** Serves also what is defined while the server runs. */
  extend(custom: CustomResources): void {
    this.#custom = custom;
  }

  /** Says that what is served has changed. */
  changed(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Calls `listener` whenever what is served has changed. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  find(group: string, version: string, plural: string): ServedResource | undefined {
    return this.#served.get(`${group}/${version}/${plural}`) ?? this.#custom?.find(group, version, plural);
  }

  /** Whether a group, by its name on the wire, is one the server was built with and serves. */
  hasGroup(group: string): boolean {
    return this.#groups.has(group);
  }

  /** Resolves once what anybody can read of a custom resource's definition is served. */
  caughtUp(group: string, plural: string): Promise<void> {
    return this.#custom?.caughtUp(group, plural) ?? Promise.resolve();
  }

  /** The resource of a kind's handle, served or not. Throws when there is none: a programming error. */
  of(kind: Kind): Resource {
    const found = this.#known.get(this.#address(kind)) ?? this.#custom?.find(this.settings.naming.group(kind.group), kind.version, kind.plural)?.resource;
    if (!found) throw new Error(`${kind.plural} is no resource`);
    return found;
  }

  /** Whether a kind has an address. */
  serves(kind: Kind): boolean {
    return this.#served.has(this.#address(kind));
  }

  /** The built-in resources. */
  get resources(): readonly Resource[] {
    return this.#resources;
  }

  /** What is served whatever is defined. */
  get builtIn(): readonly ServedResource[] {
    return [...this.#served.values()];
  }

  get served(): readonly ServedResource[] {
    return [...this.#served.values(), ...(this.#custom?.served() ?? [])];
  }

  #add(served: ServedResource): void {
    const address = this.#address(served.kind);
    this.#known.set(address, served.resource);
    if (!served.resource.definition.needs && !this.settings.serves(served.kind)) return;
    this.#served.set(address, served);
    this.#groups.add(this.settings.naming.group(served.kind.group));
  }

  #address({group, version, plural}: Kind): string {
    return `${this.settings.naming.group(group)}/${version}/${plural}`;
  }
}
