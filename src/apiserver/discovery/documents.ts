import type {Naming} from '#src/api/naming.js';
import type {Registration} from '#src/apiserver/aggregation/registrations.js';
import type {RemoteVersion} from '#src/apiserver/aggregation/remote-discovery.js';
import type {ListedGroup} from './listing.js';
import type {DiscoveredAddress, DiscoveredGroup, DiscoveredResource, DiscoveredVersion} from './resources.js';

/** The documents of discovery (the API reference, API discovery), each made on request. */

export const apiVersions = (serverAddress: string): unknown => ({
  kind: 'APIVersions',
  versions: ['v1'],
  serverAddressByClientCIDRs: [{clientCIDR: '0.0.0.0/0', serverAddress}],
});

const groupBody = ({name, versions}: ListedGroup) => {
  const listed = versions.map(({version}) => ({groupVersion: name ? `${name}/${version}` : version, version}));
  return {name, versions: listed, preferredVersion: listed[0]};
};

export const apiGroupList = (groups: readonly ListedGroup[]): unknown => ({
  kind: 'APIGroupList',
  apiVersion: 'v1',
  groups: groups.filter(({name}) => name !== '').map(groupBody),
});

export const apiGroup = (group: ListedGroup): unknown => ({kind: 'APIGroup', apiVersion: 'v1', ...groupBody(group)});

/** Group and version of a kind, if they differ from the document's. */
const foreign = (naming: Naming, {kind}: DiscoveredAddress, group: string, version: string): {group?: string; version?: string} =>
  naming.group(kind.group) === group && kind.version === version ? {} : {group: naming.group(kind.group), version: kind.version};

const nonEmpty = <K extends string>(key: K, values: readonly string[]): Partial<Record<K, readonly string[]>> =>
  (values.length > 0 ? {[key]: values} : {}) as Partial<Record<K, readonly string[]>>;

export const apiResourceList = (naming: Naming, {group}: DiscoveredGroup, {version, resources}: DiscoveredVersion): unknown => {
  const wire = naming.group(group);
  const lines = resources.flatMap(resource => {
    const {kind} = resource;
    return [
      {
        name: resource.name,
        singularName: kind.singular,
        namespaced: kind.namespaced,
        ...foreign(naming, resource, wire, version),
        kind: kind.kind,
        verbs: resource.verbs,
        ...nonEmpty('shortNames', resource.shortNames),
        ...nonEmpty('categories', resource.categories),
        ...(resource.storageVersionHash ? {storageVersionHash: resource.storageVersionHash} : {}),
      },
      ...resource.subresources.map(sub => ({
        name: `${resource.name}/${sub.name}`,
        singularName: '',
        namespaced: kind.namespaced,
        ...foreign(naming, sub, wire, version),
        kind: sub.kind.kind,
        verbs: sub.verbs,
      })),
    ];
  });
  return {kind: 'APIResourceList', ...(wire ? {apiVersion: 'v1'} : {}), groupVersion: naming.apiVersion(group, version), resources: lines};
};

/** The kind of a response: for built-in kinds, group and version only if they differ. */
const responseKind = (
  naming: Naming,
  address: DiscoveredAddress,
  {group, version, custom}: {readonly group: string; readonly version: string; readonly custom: boolean},
) => ({
  group: custom ? group : '',
  version: custom ? version : '',
  ...foreign(naming, address, group, version),
  kind: address.kind.kind,
});

const aggregatedResource = (naming: Naming, resource: DiscoveredResource, group: string, version: string) => ({
  resource: resource.name,
  responseKind: responseKind(naming, resource, {group, version, custom: resource.schema !== undefined}),
  scope: resource.kind.namespaced ? 'Namespaced' : 'Cluster',
  singularResource: resource.kind.singular,
  verbs: resource.verbs,
  ...nonEmpty('shortNames', resource.shortNames),
  ...nonEmpty('categories', resource.categories),
  ...(resource.subresources.length > 0
    ? {
        subresources: resource.subresources.map(sub => ({
          subresource: sub.name,
          responseKind: responseKind(naming, sub, {group, version, custom: resource.schema !== undefined}),
          verbs: sub.verbs,
        })),
      }
    : {}),
});

/**
 * All groups in one document (KEP-3352), under the requested apiVersion. `core` selects the list of `/api` or `/apis`;
 * `remoteVersionOf` returns the resources of aggregated servers.
 */
export const aggregated = (
  naming: Naming,
  groups: readonly ListedGroup[],
  remoteVersionOf: (registration: Registration) => RemoteVersion,
  shapeVersion: string,
  core: boolean,
) => ({
  kind: 'APIGroupDiscoveryList',
  apiVersion: shapeVersion,
  metadata: {},
  items: groups
    .filter(({name}) => (name === '') === core)
    .map(({name, versions}) => ({
      metadata: name === '' ? {} : {name},
      versions: versions.map(({version, served}) => {
        if ('local' in served)
          return {
            version,
            resources: served.local.resources.map(resource => aggregatedResource(naming, resource, name, version)),
            freshness: 'Current',
          };
        const {resources, isFresh} = remoteVersionOf(served.remote);
        return {version, ...(resources ? {resources} : {}), freshness: isFresh ? 'Current' : 'Stale'};
      }),
    })),
});
