// The kinds that the server has, as its discovery lists them.

import {Cell} from '#page/base/cell.js';
import {call} from './call.js';

/** A kind that can be listed. */
export interface Resource {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
  readonly verbs: readonly string[];
  readonly shortNames: readonly string[];
  readonly subresources: readonly string[];
}

interface GroupList {
  readonly items: readonly {
    readonly metadata: {readonly name?: string};
    readonly versions: readonly {
      readonly version: string;
      readonly resources?: readonly {
        readonly resource: string;
        readonly scope: string;
        readonly verbs: readonly string[];
        readonly shortNames?: readonly string[];
        readonly responseKind?: {readonly kind: string};
        readonly subresources?: readonly {readonly subresource: string}[];
      }[];
    }[];
  }[];
}

export const resources = new Cell<readonly Resource[]>([]);

const accept = ['v2', 'v2beta1'].map(version => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`).join(',');

const resourcesOf = ({items}: GroupList): Resource[] =>
  items.flatMap(({metadata: {name = ''}, versions}) => {
    const seen = new Set<string>();
    return versions.flatMap(({version, resources: list = []}) =>
      list.flatMap(({resource, scope, verbs, shortNames = [], responseKind, subresources = []}) => {
        if (seen.has(resource)) return []; // The first version is the one that the server prefers.
        seen.add(resource);
        return [
          {
            group: name,
            version,
            plural: resource,
            kind: responseKind?.kind ?? resource,
            isNamespaced: scope === 'Namespaced',
            verbs,
            shortNames,
            subresources: subresources.map(({subresource}) => subresource),
          },
        ];
      }),
    );
  });

/** Reads which kinds there are. */
export const readKinds = async (): Promise<void> => {
  const lists = await Promise.all(['/api', '/apis'].map(path => call<GroupList>(path, {accept})));
  resources.set(lists.flatMap(resourcesOf));
};

/** Returns a kind by its plural, and by the group before its first dot, which is the same in both namings. */
export const kindOf = (plural: string, group = ''): Resource | undefined =>
  resources.value.find(each => each.plural === plural && each.group.split('.', 1)[0] === group.split('.', 1)[0]);

/** Returns the kind of a reference: of an owner, or of the object of an event. */
export const kindNamed = (kind: string, apiVersion = ''): Resource | undefined => {
  const group = apiVersion.includes('/') ? apiVersion.split('/', 1)[0]! : '';
  return (
    resources.value.find(each => each.kind === kind && each.group === group) ??
    (apiVersion === '' ? resources.value.find(each => each.kind === kind) : undefined)
  );
};

/** Returns the path of a collection, of a namespace or of all. */
export const collectionPath = ({group, version, plural, isNamespaced}: Resource, namespace = ''): string =>
  `${group === '' ? '/api' : `/apis/${group}`}/${version}${isNamespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : ''}/${plural}`;

/** Returns the path of an object. */
export const objectPath = (resource: Resource, namespace: string, name: string, subresource = ''): string =>
  `${collectionPath(resource, namespace)}/${encodeURIComponent(name)}${subresource ? `/${subresource}` : ''}`;
