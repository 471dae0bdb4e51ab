// Describes all served resources for discovery and OpenAPI, from their definitions. The documents themselves are made
// in documents.ts.

import {createHash} from 'node:crypto';
import type {Kind} from '#src/api/kinds/index.js';
import type {GroupToken, Naming} from '#src/api/naming.js';
import {compareVersions} from '#src/api/versions.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import type {ServedResource} from '#src/apiserver/registry/resource.js';
import {builtInPriority, customPriority, registrationGroup} from '#src/resources/apiregistration/priorities.js';
import type {ConnectSubresource} from '#src/resources/definition.js';
import type {DescribedConnect, DescribedSchema} from '#src/schema/openapi/description.js';

/** A resource or subresource in discovery. */
export interface DiscoveredAddress {
  readonly name: string;
  readonly kind: Kind;
  readonly verbs: readonly string[];
  readonly connect?: DescribedConnect;
}

/** A resource with its subresources, as used by all documents that describe the API. */
export interface DiscoveredResource extends DiscoveredAddress {
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly storageVersionHash: string | undefined;
  readonly subresources: readonly DiscoveredAddress[];
  readonly deleteResponse: 'object' | 'status';
  /** Of a custom resource. */
  readonly schema?: (() => DescribedSchema) | undefined;
}

/** One version of a group with its resources, sorted by name. */
export interface DiscoveredVersion {
  readonly version: string;
  readonly resources: readonly DiscoveredResource[];
}

export interface DiscoveredGroup {
  readonly group: GroupToken;
  /** Best first. */
  readonly versions: readonly DiscoveredVersion[];
}

const storedVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const endpointVerbs = ['get', 'patch', 'update'];

/**
 * The storage version hash, by which clients detect a change of the storage version: 8 bytes of SHA-256 over group,
 * version and kind.
 */
const storageHash = (naming: Naming, {group, version, kind}: Kind): string =>
  createHash('sha256')
    .update(`${naming.group(group)}/${version}/${kind}`)
    .digest()
    .subarray(0, 8)
    .toString('base64');

const wireTypes = {string: 'string', strings: 'string', integer: 'integer', ports: 'integer', boolean: 'boolean'} as const;

/** The description of a connect subresource in documents, without its timeouts. */
const describedConnect = ({mode, options}: ConnectSubresource): DescribedConnect => ({
  mode,
  options: options.fields.flatMap(({name, type, description}) => (type === 'time' ? [] : [{name, type: wireTypes[type], description}])),
});

const byName = (a: {readonly name: string}, b: {readonly name: string}): number => (a.name < b.name ? -1 : 1);

const discovered = ({resource, kind}: ServedResource): DiscoveredResource => {
  const {definition, settings} = resource;
  const endpoints = Object.entries(definition.subresources ?? {}).map(([name, {verbs, view}]) => ({
    name,
    kind: view?.shows.kind ?? kind,
    verbs: verbs ? [...verbs].sort() : endpointVerbs,
  }));
  const actions = Object.entries(definition.actions ?? {}).map(([name, action]) => ({name, kind: action.kind, verbs: ['create']}));
  const connects = Object.entries(definition.connectSubresources ?? {}).map(([name, connect]) => ({
    name,
    kind: connect.kind,
    verbs: [...connect.verbs].sort(),
    connect: describedConnect(connect),
  }));
  const isHashOmitted =
    definition.review || definition.virtual || definition.storage?.isVersionUnserved || !settings.gate('StorageVersionHash');
  return {
    name: kind.plural,
    kind,
    verbs:
      definition.custom?.verbs ??
      (definition.review
        ? ['create']
        : definition.virtual
          ? ['get', 'list']
          : storedVerbs.filter(verb => verb !== 'deletecollection' || !definition.deletion?.excludesCollection)),
    shortNames: definition.discovery?.shortNames ?? [],
    categories: definition.discovery?.categories ?? [],
    storageVersionHash: isHashOmitted ? undefined : storageHash(settings.naming, settings.storedKind(definition)),
    // The columns of custom resources keep the order of their definition.
    subresources: definition.custom ? endpoints : [...endpoints, ...actions, ...connects].sort(byName),
    deleteResponse: definition.deletion?.response === 'object' ? 'object' : 'status',
    schema: definition.custom?.described,
  };
};

/** The position of a group in discovery, which determines the group of a resource name without one. */
const positionOf = (group: GroupToken, versions: Iterable<string>): number => {
  if (group === '' || group === registrationGroup) return Infinity;
  return Math.max(...[...versions].map(version => (builtInPriority(group, version) ?? customPriority).group));
};

/** Everything the registry serves, by group and version. */
export const discoveredGroups = (registry: Registry): DiscoveredGroup[] => {
  const groups = new Map<GroupToken, Map<string, DiscoveredResource[]>>();
  for (const served of registry.served) {
    const {group, version} = served.kind;
    const versions = groups.get(group) ?? new Map<string, DiscoveredResource[]>();
    groups.set(group, versions);
    versions.set(version, [...(versions.get(version) ?? []), discovered(served)]);
  }
  return [...groups]
    .map(([group, versions]) => ({group, versions, place: positionOf(group, versions.keys())}))
    .sort((a, b) => (a.place === b.place ? (a.group < b.group ? -1 : 1) : b.place - a.place))
    .map(({group, versions}) => ({
      group,
      versions: [...versions]
        .sort(([a], [b]) => compareVersions(a, b))
        .map(([version, resources]) => ({version, resources: resources.sort(byName)})),
    }));
};
