import {hashOf, type Row} from './table.js';

interface ServedVersion {
  readonly version: string;
  readonly resources: readonly {readonly resource: string}[];
}

/** The aggregated discovery document: groups in order, with their versions and the resources of these. */
export interface GroupDiscoveryList {
  readonly items: readonly {readonly metadata: {readonly name?: string}; readonly versions: readonly ServedVersion[]}[];
}

/** Returns a line for each resource of each version, with the hash of its description. */
export const aggregatedRows = ({items}: GroupDiscoveryList): Row[] =>
  items.flatMap(({metadata: {name = ''}, versions}) =>
    versions.flatMap(({version, resources, ...head}) => [
      [`${name}/${version}`, '', hashOf(head)],
      ...resources.map(entry => [`${name}/${version}`, entry.resource, hashOf(entry)]),
    ]),
  );

/** Returns the groups and their versions, in their order. */
export const groupRows = (list: {
  readonly groups: readonly {readonly name: string; readonly versions: readonly {readonly version: string}[]}[];
}): Row[] => list.groups.map(({name, versions}) => [name, versions.map(({version}) => version).join(',')]);
