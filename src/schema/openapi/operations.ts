import type {Kind} from '#src/api/kinds/index.js';
import type {GroupToken, Naming} from '#src/api/naming.js';
import type {DescribedAddress, DescribedGroup, DescribedResource} from './description.js';
import {listOf, meta, typeOf, type Operation, type Path, type ResourceLocation} from './operation.js';
import {capitalised, camelGroupVersion, camelGroup, tagOf} from './names.js';
import {
  deleteCollectionParameters,
  deleteParameters,
  listParameters,
  nameParameter,
  namespaceParameter,
  patchParameters,
  pretty,
  writeParameters,
} from './parameters.js';
import {customPaths} from './custom-operations.js';
import {connectPaths} from './connect.js';

const verbs = (...names: readonly string[]) => names;

const operation = (
  place: ResourceLocation,
  method: Operation['method'],
  id: string,
  rest: Omit<Operation, 'method' | 'id' | 'tag'>,
): Operation => ({
  method,
  id,
  tag: place.tag,
  ...rest,
});

const collectionOperations = (place: ResourceLocation): Operation[] => {
  const {resource, groupVersionName, scope} = place;
  const {kind} = resource;
  const subject = `${groupVersionName}${scope}${kind.kind}`;
  const all: Readonly<Record<string, Operation>> = {
    list: operation(place, 'get', `list${subject}`, {
      description: `list or watch objects of kind ${kind.kind}`,
      parameters: listParameters,
      action: 'list',
      kind,
      responses: {200: listOf(kind)},
      streams: true,
    }),
    create: operation(place, 'post', `create${subject}`, {
      description: `create ${kind.kind}`,
      parameters: writeParameters,
      action: 'post',
      kind,
      body: {type: typeOf(kind), required: true},
      responses: {200: typeOf(kind), 201: typeOf(kind), 202: typeOf(kind)},
    }),
    deletecollection: operation(place, 'delete', `delete${groupVersionName}Collection${scope}${kind.kind}`, {
      description: `delete collection of ${kind.kind}`,
      parameters: deleteCollectionParameters,
      action: 'deletecollection',
      kind,
      body: {type: meta('DeleteOptions'), required: false},
      responses: {200: meta('Status')},
    }),
  };
  return verbs('list', 'create', 'deletecollection').flatMap(verb => (resource.verbs.includes(verb) ? (all[verb] ?? []) : []));
};

/** Returns the operations on one object, or on a subresource with the same verbs. */
const endpointOperations = (
  place: ResourceLocation,
  {kind, verbs: allowed}: DescribedAddress,
  suffix: string,
  owner: Kind,
): Operation[] => {
  const subject = `${place.groupVersionName}${place.scope}${owner.kind}${suffix}`;
  const part = suffix === '' ? '' : `${suffix.toLowerCase()} of the `;
  const type = typeOf(kind);
  const all: Readonly<Record<string, Operation>> = {
    get: operation(place, 'get', `read${subject}`, {
      description: `read ${part}specified ${owner.kind}`,
      parameters: [],
      action: 'get',
      kind,
      responses: {200: type},
    }),
    update: operation(place, 'put', `replace${subject}`, {
      description: `replace ${part}specified ${owner.kind}`,
      parameters: writeParameters,
      action: 'put',
      kind,
      body: {type, required: true},
      responses: {200: type, 201: type},
    }),
    patch: operation(place, 'patch', `patch${subject}`, {
      description: `change parts of ${part}specified ${owner.kind}`,
      parameters: patchParameters,
      action: 'patch',
      kind,
      body: {type: meta('Patch'), required: true, isPatch: true},
      responses: {200: type, 201: type},
    }),
    create: operation(place, 'post', `create${subject}`, {
      description: `create ${part}${owner.kind}`,
      parameters: writeParameters,
      action: 'post',
      kind,
      body: {type, required: true},
      responses: {200: type, 201: type, 202: type},
    }),
  };
  return verbs('get', 'update', 'patch', ...(suffix === '' ? [] : ['create'])).flatMap(verb =>
    allowed.includes(verb) ? (all[verb] ?? []) : [],
  );
};

const deletion = (place: ResourceLocation): Operation[] => {
  const {resource, groupVersionName, scope} = place;
  if (!resource.verbs.includes('delete')) return [];
  const response = resource.deleteResponse === 'object' ? typeOf(resource.kind) : meta('Status');
  return [
    operation(place, 'delete', `delete${groupVersionName}${scope}${resource.kind.kind}`, {
      description: `delete ${resource.kind.kind}`,
      parameters: deleteParameters,
      action: 'delete',
      kind: resource.kind,
      body: {type: meta('DeleteOptions'), required: false},
      responses: {200: response, 202: response},
    }),
  ];
};

const watching = (place: ResourceLocation, id: string, action: string): Operation =>
  operation(place, 'get', id, {
    description: `watch changes of objects of kind ${place.resource.kind.kind}; deprecated: list with the watch parameter`,
    parameters: listParameters,
    action,
    kind: place.resource.kind,
    responses: {200: meta('WatchEvent')},
    streams: true,
  });

const resourcePaths = (place: ResourceLocation): Path[] => {
  const {resource, groupVersionName, scope, root, collection} = place;
  const {kind} = resource;
  const within = kind.namespaced ? [namespaceParameter] : [];
  const inNamespace = kind.namespaced ? '/namespaces/{namespace}' : '';
  const [watches, lists] = [resource.verbs.includes('watch'), resource.verbs.includes('list')];
  const everywhere = listsEverywhere(place, lists);
  const subject = `${groupVersionName}${scope}${kind.kind}`;
  const watchedEverywhere = watching(place, `watch${groupVersionName}${kind.kind}ListForAllNamespaces`, 'watchlist');
  return [
    {path: collection, parameters: [...within, pretty], operations: collectionOperations(place)},
    {
      path: `${collection}/{name}`,
      parameters: [nameParameter, ...within, pretty],
      operations: [...endpointOperations(place, resource, '', kind), ...deletion(place)].filter(({method}) => method !== 'post'),
    },
    ...resource.subresources.flatMap(sub =>
      sub.connect
        ? connectPaths(place, sub, sub.connect)
        : [
            {
              path: `${collection}/{name}/${sub.name}`,
              parameters: [nameParameter, ...within, pretty],
              operations: endpointOperations(place, sub, capitalised(sub.name), kind),
            },
          ],
    ),
    ...(kind.namespaced ? [everywhere] : []),
    ...(watches
      ? [
          {
            path: `${root}/watch${inNamespace}/${kind.plural}`,
            parameters: [...within, pretty],
            operations: [watching(place, `watch${subject}List`, 'watchlist')],
          },
          {
            path: `${root}/watch${inNamespace}/${kind.plural}/{name}`,
            parameters: [nameParameter, ...within, pretty],
            operations: [watching(place, `watch${subject}`, 'watch')],
          },
          ...(kind.namespaced ? [{path: `${root}/watch/${kind.plural}`, parameters: [pretty], operations: [watchedEverywhere]}] : []),
        ]
      : []),
  ].filter(({operations}) => operations.length > 0);
};

const listsEverywhere = (place: ResourceLocation, lists: boolean): Path => {
  const {kind} = place.resource;
  const list = operation(place, 'get', `list${place.groupVersionName}${kind.kind}ForAllNamespaces`, {
    description: `list or watch objects of kind ${kind.kind}`,
    parameters: listParameters,
    action: 'list',
    kind,
    responses: {200: listOf(kind)},
    streams: true,
  });
  return {path: `${place.root}/${kind.plural}`, parameters: [pretty], operations: lists ? [list] : []};
};

/** Returns the root path of a group version. */
export const groupVersionRoot = (naming: Naming, group: GroupToken, version: string): string =>
  group === '' ? `/api/${version}` : `/apis/${naming.group(group)}/${version}`;

/** Returns every path of a group version. */
export const groupVersionPaths = (naming: Naming, group: GroupToken, version: string, resources: readonly DescribedResource[]): Path[] => {
  const root = groupVersionRoot(naming, group, version);
  const [groupVersionName, tag] = [camelGroupVersion(group, version), tagOf(group, version)];
  const own: Path = {
    path: `${root}/`,
    parameters: [],
    operations: [
      {
        method: 'get',
        id: `get${groupVersionName}APIResources`,
        description: 'get available resources',
        tag,
        parameters: [],
        responses: {200: meta('APIResourceList')},
      },
    ],
  };
  const paths = resources.flatMap(resource => {
    const {kind} = resource;
    const collection = kind.namespaced ? `${root}/namespaces/{namespace}/${kind.plural}` : `${root}/${kind.plural}`;
    const place = {group, version, resource, groupVersionName, scope: kind.namespaced ? 'Namespaced' : '', root, collection, tag};
    return resource.schema ? customPaths(place) : resourcePaths(place);
  });
  // The document of a custom group has its resources only.
  return resources.some(({schema}) => !schema) ? [own, ...paths] : paths;
};

const discoveryPath = (path: string, id: string, tag: string, type: string): Path => ({
  path,
  parameters: [],
  operations: [
    {method: 'get', id, description: 'get available API versions', tag, parameters: [], responses: {200: meta(type)}, plain: true},
  ],
});

/** Returns the paths outside of group versions, by document name. */
export const rootPaths = (naming: Naming, groups: readonly DescribedGroup[]): Map<string, Path> =>
  new Map([
    ['api', discoveryPath('/api/', 'getCoreAPIVersions', 'core', 'APIVersions')],
    ['apis', discoveryPath('/apis/', 'getAPIVersions', 'apis', 'APIGroupList')],
    ...groups
      .filter(({group, versions}) => group !== '' && versions.some(({resources}) => resources.some(({schema}) => !schema)))
      .map(({group}): [string, Path] => {
        const path = `apis/${naming.group(group)}`;
        return [path, discoveryPath(`/${path}/`, `get${camelGroup(group)}APIGroup`, tagOf(group), 'APIGroup')];
      }),
  ]);
