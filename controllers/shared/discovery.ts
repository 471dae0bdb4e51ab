// Discovery of the resources of the server, for controllers that handle kinds by name, such as the garbage collector,
// namespaces, quotas and the horizontal autoscaler.

import {kindOnWire, type Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Client} from '#src/client/client.js';
import {messageOf} from '#src/base/message.js';

/** A resource found by discovery, which may be unknown to the code. */
export interface FoundResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

/** The result of discovery, and the group versions that failed, with the reason. */
export interface Discovered {
  /** Each resource once, in its preferred version. */
  readonly resources: readonly FoundResource[];
  /** Each resource in every version. */
  readonly served: readonly FoundResource[];
  readonly failed: ReadonlyMap<string, string>;
  /** Malformed group versions. */
  readonly malformed: readonly string[];
}

/** Formats as `resource.group`, or the resource alone in the core group. */
export const resourceText = ({group, resource}: Pick<FoundResource, 'group' | 'resource'>): string =>
  group ? `${resource}.${group}` : resource;

/** Formats a group version. */
export const groupVersionOf = ({group, version}: Pick<FoundResource, 'group' | 'version'>): string =>
  group ? `${group}/${version}` : version;

/** Returns the kind handle of a discovered resource for clients and informers. */
export const handleOf = (naming: Naming, {resource, ...found}: FoundResource): Kind => kindOnWire(naming, {...found, plural: resource});

interface AggregatedResource {
  readonly resource: string;
  readonly responseKind?: {readonly kind?: string};
  readonly scope: string;
  readonly verbs?: readonly string[];
}
interface AggregatedVersion {
  readonly version: string;
  readonly resources?: readonly AggregatedResource[];
  readonly freshness?: string;
}
interface AggregatedGroups {
  readonly kind: 'APIGroupDiscoveryList';
  readonly items: readonly {readonly metadata?: {readonly name?: string}; readonly versions?: readonly AggregatedVersion[]}[];
}
interface PlainResource {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs?: readonly string[];
}
interface PlainVersions {
  readonly kind: 'APIVersions';
  readonly versions?: readonly string[];
}
interface PlainGroups {
  readonly kind: 'APIGroupList';
  readonly groups?: readonly {
    readonly name: string;
    readonly versions?: readonly {readonly groupVersion: string}[];
    readonly preferredVersion?: {readonly groupVersion: string};
  }[];
}

/** One version of a group; the versions of a group are in order of preference. */
interface FoundVersion {
  readonly groupVersion: string;
  readonly resources: readonly FoundResource[];
  readonly failure?: string;
}

/**
 * What was found in two aggregated documents, by the first. A server in this process returns the same ones until they
 * change.
 */
const found = new WeakMap<RootDocument, {readonly groups: RootDocument; readonly discovered: Discovered}>();

/**
 * Discovers all resources. The preferred version of a resource is the group's preferred version if it has it, else the
 * first that has it. Failed groups are in the result. Rejects when the groups cannot be read at all.
 */
export const discover = async (client: Client): Promise<Discovered> => {
  const [core, groups] = [await documentAt(client, '/api'), await documentAt(client, '/apis')];
  const known = found.get(core);
  if (known?.groups === groups) return known.discovered;
  const discovered = discoveredOf([...(await versionsOf(client, core)), ...(await versionsOf(client, groups))]);
  if ([core, groups].every(each => each.kind === 'APIGroupDiscoveryList' && Object.isFrozen(each))) found.set(core, {groups, discovered});
  return discovered;
};

const discoveredOf = (versions: readonly FoundVersion[]): Discovered => {
  const resources = new Map<string, FoundResource>();
  const served: FoundResource[] = [];
  const failed = new Map<string, string>();
  const malformed: string[] = [];
  for (const each of versions) {
    if (each.groupVersion.split('/').length > 2) malformed.push(each.groupVersion);
    else if (each.failure !== undefined) failed.set(each.groupVersion, each.failure);
    else {
      served.push(...each.resources);
      for (const resource of each.resources) {
        const name = resourceText(resource);
        if (!resources.has(name)) resources.set(name, resource);
      }
    }
  }
  return {resources: [...resources.values()], served, failed, malformed};
};

type RootDocument = AggregatedGroups | PlainVersions | PlainGroups;

/** Returns what the server has below a root: an aggregated document if the server supports it. */
const documentAt = async (client: Client, path: string): Promise<RootDocument> => {
  const accept = `application/json;g=${client.naming.group('apidiscovery')};v=v2;as=APIGroupDiscoveryList,application/json`;
  return (await client.request('GET', path, {accept})) as RootDocument;
};

const versionsOf = async (client: Client, document: RootDocument): Promise<readonly FoundVersion[]> => {
  if (document.kind === 'APIGroupDiscoveryList')
    return document.items.flatMap(({metadata, versions = []}) => versions.map(version => fromAggregated(metadata?.name ?? '', version)));
  const groupVersions = document.kind === 'APIVersions' ? (document.versions ?? []) : (document.groups ?? []).flatMap(inOrder);
  return Promise.all(groupVersions.map(groupVersion => fromPlain(client, groupVersion)));
};

const fromAggregated = (group: string, {version, resources = [], freshness}: AggregatedVersion): FoundVersion => {
  const groupVersion = groupVersionOf({group, version});
  if (freshness === 'Stale') return {groupVersion, resources: [], failure: `stale GroupVersion discovery: ${groupVersion}`};
  return {
    groupVersion,
    resources: resources.map(({resource, responseKind, scope, verbs = []}) => ({
      group,
      version,
      resource,
      kind: responseKind?.kind ?? '',
      namespaced: scope === 'Namespaced',
      verbs,
    })),
  };
};

const inOrder = ({versions = [], preferredVersion}: NonNullable<PlainGroups['groups']>[number]): string[] => {
  const preferred = preferredVersion ? [preferredVersion.groupVersion] : [];
  return [...new Set([...preferred, ...versions.map(({groupVersion}) => groupVersion)])];
};

const fromPlain = async (client: Client, groupVersion: string): Promise<FoundVersion> => {
  const slash = groupVersion.indexOf('/');
  const [group, version] = [groupVersion.slice(0, Math.max(0, slash)), groupVersion.slice(slash + 1)];
  try {
    const path = group ? `/apis/${group}/${version}` : `/api/${version}`;
    const {resources = []} = (await client.request('GET', path)) as {readonly resources?: readonly PlainResource[]};
    const main = resources.filter(({name}) => !name.includes('/'));
    return {
      groupVersion,
      resources: main.map(({name, kind, namespaced, verbs = []}) => ({group, version, resource: name, kind, namespaced, verbs})),
    };
  } catch (error) {
    return {groupVersion, resources: [], failure: messageOf(error)};
  }
};
