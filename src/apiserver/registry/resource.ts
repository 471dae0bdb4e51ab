// One kind in the store: its keys, its settings and the caches of its objects.

import type {FieldError} from '#src/api/field-error.js';
import type {Kind} from '#src/api/kinds/index.js';
import {andThen, type Eventually} from '#src/base/eventually.js';
import type {SchemaSource} from '#src/schema/builtin/schemas.js';
import type {SchemaNode} from '#src/schema/node.js';
import type {ResourceRef} from '#src/api/status.js';
import type {KubeObject, ObjectMeta} from '#src/api/types.js';
import type {UserInfo} from '#src/api/user.js';
import {parseJson} from '#src/base/json/json.js';
import {ownValue} from '#src/base/own.js';
import {storagePath} from '#src/resources/storage-path.js';
import type {Endpoint, HookContext, ResourceDefinition, ServedVersion} from '#src/resources/definition.js';
import {endOfPrefix, type StoredRecord} from '#src/storage/store.js';
import {deepFreeze, longRecordBytes, ObjectCache} from './object-cache.js';
import {RemainingCounts} from './remaining-counts.js';
import {metadataEnd, metadataJson, partialRecordObject, recordObject, recordWithoutOwners} from './record.js';
import {CollectionAttributes, type RecordRow} from './selection-cache.js';
import {rowTextOf} from './row-text.js';
import type {RegistrySettings} from './settings.js';
import type {SharedObjects} from './shared-objects.js';

/**
 * The settings of one resource. Custom resources have schemas of their own, and a store that translates records to
 * their version.
 */
export type ResourceSettings = Omit<RegistrySettings, 'schemas'> & {
  readonly schemas: SchemaSource;
  readonly siblings?: Siblings;
  /** The parsed objects of servers over stores that share records with this one. */
  readonly sharedObjects?: SharedObjects | undefined;
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
  readonly kind: Kind;
  /** Whether the kind is defined at runtime. */
  readonly isCustom: boolean;
  readonly settings: ResourceSettings;
  readonly objects: ObjectCache;
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
    this.kind = definition.kind;
    this.isCustom = definition.custom !== undefined;
    this.settings = settings;
    this.objects = new ObjectCache(settings.sharedObjects);
    this.apiVersion = settings.naming.apiVersion(definition.kind.group, definition.kind.version);
    this.ref = refOf(definition, settings);
    const fields = [
      definition.selection?.fields,
      ...(definition.served?.otherVersions ?? []).map(({selectableFields}) => selectableFields),
    ];
    this.getters = [...new Set(fields.flatMap(getters => Object.values(getters ?? {})))];
    this.attributes = new CollectionAttributes(settings.selection, {
      getters: this.getters,
      // A custom resource may have more fields than a partial object keeps.
      parseFields: ({key, value, revision}) =>
        this.objects.peek(key, revision) ??
        (value.length < longRecordBytes || definition.custom ? recordObject(value, revision) : partialRecordObject(value)),
      row: record => this.#row(record),
    });
    this.root = rootOf(definition, settings);
  }

  #row({key, value, revision}: StoredRecord): RecordRow | null {
    // A custom resource may have columns of the owners of its fields.
    const parse = this.isCustom ? recordObject : recordWithoutOwners;
    const row = rowTextOf(this.definition, this.objects.peek(key, revision) ?? parse(value, revision), this.settings.naming);
    return row && {...row, metadataEnd: metadataEnd(value)};
  }

  /** Empties the caches of objects: the data of the store were replaced. */
  forget(): void {
    this.objects.clear();
    this.attributes.clear();
  }

  /** Returns the frozen object of a record; a promise if it is long and parsed in steps. */
  object({key, value, revision}: StoredRecord): Eventually<Readonly<KubeObject>> {
    return this.objects.inPieces(key, value, revision, this.settings.clock) ?? this.objects.of(key, value, revision);
  }

  /**
   * Returns the object of a record without the owners of its fields, which is not kept; a promise if it is long and
   * parsed in steps.
   */
  withoutOwners(record: StoredRecord): Eventually<Readonly<KubeObject>> {
    const {key, value, revision} = record;
    const known = this.objects.peek(key, revision);
    if (!known && value.length < longRecordBytes) return recordWithoutOwners(value, revision);
    return andThen(known ?? this.object(record), object => {
      const {managedFields: _, ...metadata} = object.metadata ?? {};
      return {...object, metadata};
    });
  }

  /** Returns at least the frozen metadata of a record; a promise if it is long and parsed in steps. */
  metadata(record: StoredRecord): Eventually<Readonly<KubeObject>> {
    return this.shortMetadata(record) ?? this.object(record);
  }

  /**
   * Returns at least the frozen metadata of a record, of which nothing else is parsed or kept; undefined if the record
   * is long.
   */
  shortMetadata({key, value, revision}: StoredRecord): Readonly<KubeObject> | undefined {
    if (value.length >= longRecordBytes) return undefined;
    return this.objects.peek(key, revision) ?? {metadata: deepFreeze(parseJson(metadataJson(value, revision)) as ObjectMeta)};
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

  /** Whether it has the subresource, if one is named. */
  hasPart(subresource: string): boolean {
    const {subresources, actions, connectSubresources} = this.definition;
    return (
      !subresource ||
      Boolean(ownValue(subresources, subresource) ?? ownValue(actions, subresource) ?? ownValue(connectSubresources, subresource))
    );
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
