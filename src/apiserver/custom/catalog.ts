// The catalog of custom resources. A definition is unknown, established (served), or retired (changed or deleted: its
// watches end). Follows the definitions in the store; conditions and finalizers are written by
// src/controlplane/definitions.

import {andThen} from '#src/base/eventually.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Definition} from '#src/resources/apiextensions/types.js';
import {customFamily, isEnding, isServed, sameService, type CustomFamily, type CustomVersion} from '#src/resources/custom/family.js';
import {longRecordBytes, type ObjectCache} from '#src/apiserver/registry/object-cache.js';
import {listAndWatchRecords} from '#src/apiserver/registry/read/list-watch.js';
import {measuredStore} from '#src/apiserver/registry/measured-store.js';
import type {CustomResources, Registry} from '#src/apiserver/registry/registry.js';
import {refOf, rootOf, Resource, type ServedResource} from '#src/apiserver/registry/resource.js';
import type {Siblings} from '#src/apiserver/registry/resource.js';
import {withClockHeld} from '#src/base/clock.js';
import {runStepsYielding} from '#src/base/steps.js';
import {Yielder} from '#src/base/turn.js';
import {surveyed} from '#src/schema/custom/facts.js';
import type {JsonSchema} from '#src/schema/json-schema.js';
import type {StoredRecord} from '#src/storage/store.js';
import type {Conversion} from './conversion.js';
import {RecordTranslation} from './records.js';
import {translatedStore} from '#src/storage/translated-store.js';

/** The resources of a definition: its served versions, and the store of its objects. */
interface EntryResources {
  readonly served: ReadonlyMap<string, ServedResource>;
  readonly stored?: Resource;
}

/** A definition, and its resources, which are created on first use. */
class Entry {
  readonly #record: StoredRecord;
  readonly #objects: ObjectCache;
  #definition: Definition | undefined;
  #resources: EntryResources | undefined;
  /** Ends the watches of its objects. */
  readonly retired = new AbortController();

  constructor(record: StoredRecord, objects: ObjectCache, definition?: Definition) {
    this.#record = record;
    this.#objects = objects;
    this.#definition = definition;
  }

  get definition(): Definition {
    return (this.#definition ??= this.#objects.of(this.#record.key, this.#record.value, this.#record.revision) as Definition);
  }

  /** Lets the watches of an earlier state of the definition go on until this one is retired. */
  retires(earlier: Entry): void {
    this.retired.signal.addEventListener('abort', () => earlier.retired.abort(), {once: true});
  }

  resources(make: (definition: Definition, signal: AbortSignal) => EntryResources): EntryResources {
    return (this.#resources ??= make(this.definition, this.retired.signal));
  }
}

export interface CatalogParts {
  readonly registry: Registry;
  /** Returns the conversion between the versions of a definition's objects. */
  conversion(definition: Definition): Conversion;
}

/**
 * The custom resources (KEP-95): follows the definitions in the store and serves their resources. An unused definition
 * costs only its record; its schemas are parsed with the first object.
 */
export class CustomCatalog implements CustomResources {
  readonly #parts: CatalogParts;
  readonly #definitions: Resource;
  readonly #entries = new Map<string, Entry>();
  /** The revision up to which the definitions are known. While they are not followed, later ones are not received. */
  #known = Infinity;
  /** Whether the initial list is being read. */
  #isListing = false;
  readonly #waiting = new Set<{readonly revision: number; readonly resolve: () => void}>();

  constructor(parts: CatalogParts) {
    this.#parts = parts;
    this.#definitions = parts.registry.of(kinds.customResourceDefinitions);
    parts.registry.extend(this);
  }

  /** Serves the defined resources, and follows the definitions until the signal aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#setKnown(Infinity), {once: true});
    this.#isListing = true;
    await listAndWatchRecords(
      this.#definitions,
      {handle: (key, record) => this.#take(key, record), reached: revision => this.#setKnown(revision)},
      signal,
    );
    this.#isListing = false;
    if (this.#entries.size > 0) this.#parts.registry.notifyChange();
  }

  /**
   * Resolves when the stored changes of a definition have been received. A client that reads the definition may see it
   * a moment earlier and then request its objects at once.
   */
  async waitUntilServed(group: string, plural: string): Promise<void> {
    const record = await this.#definitions.settings.store.get(this.#definitions.key('', `${plural}.${group}`));
    if (!record || record.revision <= this.#known) return;
    await new Promise<void>(resolve => this.#waiting.add({revision: record.revision, resolve}));
  }

  #setKnown(revision: number): void {
    this.#known = revision;
    for (const waiter of this.#waiting) {
      if (waiter.revision > revision) continue;
      this.#waiting.delete(waiter);
      waiter.resolve();
    }
  }

  find(group: string, version: string, plural: string): ServedResource | undefined {
    const entry = this.#entries.get(`${plural}.${group}`);
    return entry && this.#resourcesOf(entry).served.get(version);
  }

  /**
   * Returns the objects of a definition in its storage version, served or not; undefined before the definition is
   * established.
   */
  stored(name: string): Resource | undefined {
    const entry = this.#entries.get(name);
    return entry && this.#resourcesOf(entry).stored;
  }

  served(): readonly ServedResource[] {
    return [...this.#entries.values()].flatMap(entry => [...this.#resourcesOf(entry).served.values()]);
  }

  #nameOf(key: string): string {
    return key.slice(this.#definitions.root.length);
  }

  #take(key: string, record: StoredRecord | undefined): void | Promise<void> {
    const name = this.#nameOf(key);
    if (!record) return this.#replace(name, undefined);
    if (record.value.length < longRecordBytes) return this.#replace(name, new Entry(record, this.#definitions.objects));
    return this.#takeLong(name, record);
  }

  /**
   * Parses a long definition and surveys its schemas in pieces: no request has to, when it comes to the first object.
   */
  async #takeLong(name: string, record: StoredRecord): Promise<void> {
    const {objects, settings} = this.#definitions;
    const {key, value, revision} = record;
    const definition = (await (objects.inPieces(key, value, revision, settings.clock) ?? objects.of(key, value, revision))) as Definition;
    const before = this.#entries.get(name);
    if (before && sameService(before.definition, definition)) return;
    const pieces = new Yielder(settings.clock);
    for (const {schema} of definition.spec.versions) {
      const source = schema?.openAPIV3Schema as JsonSchema | undefined;
      if (source) await withClockHeld(settings.clock, () => runStepsYielding(surveyed(source), pieces));
    }
    this.#replace(name, new Entry(record, objects, definition));
  }

  #replace(name: string, now: Entry | undefined): void {
    const before = this.#entries.get(name);
    // Most changes of a definition are changes of its conditions, which do not affect its objects.
    if (before && now && sameService(before.definition, now.definition)) return;
    if (now) this.#entries.set(name, now);
    else this.#entries.delete(name);
    if (before && now && isEnding(before.definition, now.definition)) now.retires(before);
    else before?.retired.abort();
    if (!this.#isListing) this.#parts.registry.notifyChange();
  }

  #resourcesOf(entry: Entry): EntryResources {
    return entry.resources((definition, signal) =>
      isServed(definition) ? this.#make(customFamily(definition, this.#parts.registry.settings), signal) : {served: new Map()},
    );
  }

  #make(family: CustomFamily, signal: AbortSignal): EntryResources {
    const {settings} = this.#parts.registry;
    const {definition} = family;
    const conversion = this.#parts.conversion(definition);
    const schemas = {
      of: (group: string, version: string, kind: string) =>
        family.versions.find(one => one.kind.group === group && one.kind.version === version && one.kind.kind === kind)?.schema.node ??
        settings.schemas.of(group, version, kind),
    };
    const siblings: Siblings = {
      served: () => [...served.values()],
      schemaOf: apiVersion => family.versions.find(version => version.apiVersion === apiVersion)?.schema.node,
      convert(object, apiVersion) {
        const converted = conversion.convert([object], apiVersion);
        return andThen(converted, ([one]) => one!);
      },
    };
    const resourceOf = (version: CustomVersion): Resource => {
      const store = translatedStore(
        measuredStore(settings.store, rootOf(version.definition, settings), refOf(version.definition, settings), settings),
        new RecordTranslation(family, version, conversion),
        signal,
      );
      return new Resource(version.definition, {
        ...settings,
        schemas,
        siblings,
        store,
        readBack: store.readBack,
        wouldReadBack: store.wouldReadBack,
      });
    };
    const served = new Map(
      family.versions
        .filter(version => version.served)
        .map((version): [string, ServedResource] => [version.kind.version, {resource: resourceOf(version), kind: version.kind}]),
    );
    return {served, stored: served.get(family.stored.kind.version)?.resource ?? resourceOf(family.stored)};
  }
}
