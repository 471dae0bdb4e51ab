import type {Row} from './table.js';

interface ResourceEntry {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  readonly kind: string;
  readonly group?: string;
  readonly version?: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly storageVersionHash?: string;
}

/** The discovery document of a group version. */
export interface ResourceList {
  readonly groupVersion: string;
  readonly resources: readonly ResourceEntry[];
}

/**
 * Returns a line for each resource and subresource. A kind of another group version than its resource's has it in its
 * name.
 */
export const discoveryRows = (documents: readonly ResourceList[]): Row[] =>
  documents.flatMap(({groupVersion, resources}) =>
    resources.map(entry => [
      groupVersion,
      entry.name,
      entry.version === undefined ? entry.kind : `${entry.group ? `${entry.group}/` : ''}${entry.version} ${entry.kind}`,
      entry.namespaced ? 'namespace' : 'cluster',
      entry.verbs.join(','),
      (entry.shortNames ?? []).join(','),
      (entry.categories ?? []).join(','),
      entry.singularName,
      entry.storageVersionHash ?? '',
    ]),
  );
