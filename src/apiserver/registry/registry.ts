// The registry: all resources of a server, built-in and custom. It maps group, version and plural to a resource and
// notifies listeners when the served resources change. Reads and writes of objects are in the other modules of this
// folder; it never calls them.

import type {Kind} from '#src/api/kinds/index.js';
import type {ResourceDefinition} from '#src/resources/definition.js';
import type {ResourceTarget} from '#src/apiserver/request/request-info.js';
import {measuredStore} from './measured-store.js';
import {refOf, Resource, rootOf, type ServedResource} from './resource.js';
import type {RegistrySettings} from './settings.js';
import {SharedObjects} from './shared-objects.js';

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
    const sharedObjects = SharedObjects.of(settings.store);
    for (const definition of definitions) {
      const store = measuredStore(settings.store, rootOf(definition, settings), refOf(definition, settings), settings);
      const resource = new Resource(definition, {...settings, store, sharedObjects});
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

  /** Whether a resource, and its subresource if one is named, is served. */
  isServed({group, version, resource, subresource}: ResourceTarget): boolean {
    return this.find(group, version, resource)?.resource.hasPart(subresource) ?? false;
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
