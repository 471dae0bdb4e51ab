// What a forecast begins with: the objects of a cluster, read kind by kind and page by page, or those of a snapshot.

import {createReadStream} from 'node:fs';
import {kinds, apiVersionOf, groupResource, kindOnWire, type Kind} from '#src/api/kinds/index.js';
import {naming as namingOf, type Naming, type NamingName} from '#src/api/naming.js';
import {isForbidden} from '#src/api/status.js';
import {parseTime} from '#src/api/time.js';
import type {KubeObject} from '#src/api/types.js';
import {encodeRecord, isRecord, recordObject} from '#src/apiserver/registry/record.js';
import {messageOf} from '#src/base/message.js';
import type {Client} from '#src/client/client.js';
import {pagesOf} from '#src/client/pages.js';
import {ServedKinds} from '#src/client/served-kinds.js';
import {canonicalValue} from '#src/cli/snapshot/canonical.js';
import type {Definition} from '#src/resources/apiextensions/types.js';
import {isServed} from '#src/resources/custom/family.js';
import {resources} from '#src/resources/builtin/index.js';
import type {ResourceDefinition} from '#src/resources/definition.js';
import {storagePath} from '#src/resources/storage-path.js';
import {SnapshotReader} from '#src/storage/snapshot/format.js';

/** The prefix of the keys of a plane's store. */
export const storeRoot = '/registry';

/** The most objects that are read. */
const mostObjects = 100_000;

/** The objects of a moment. */
export interface Source {
  readonly naming: Naming;
  /** When they were read. */
  readonly at: number;
  /** By their keys in the store. */
  readonly objects: ReadonlyMap<string, KubeObject>;
  /** What is not among them, in words. */
  readonly notes: readonly string[];
}

/** Kinds that belong to what runs a cluster, and not to what runs in it: the copy has its own. */
const ownKinds: readonly Kind[] = [
  kinds.events,
  kinds.coreEvents,
  kinds.leases,
  kinds.leaseCandidates,
  kinds.flowSchemas,
  kinds.priorityLevelConfigurations,
  kinds.ipAddresses,
  kinds.storageVersions,
];

/** Kinds by which others take part in requests: nobody answers for them in the copy. */
const foreignKinds: readonly (readonly [kind: Kind, text: string])[] = [
  [kinds.mutatingWebhookConfigurations, 'mutating webhooks'],
  [kinds.validatingWebhookConfigurations, 'validating webhooks'],
  [kinds.apiServices, 'aggregated API servers'],
];

const isSame = (a: Pick<Kind, 'group' | 'plural'>, b: Pick<Kind, 'group' | 'plural'>): boolean =>
  a.group === b.group && a.plural === b.plural;

/** The kinds whose objects are copied. */
const copied: readonly ResourceDefinition[] = resources.filter(
  ({kind, review, virtual}) =>
    !review && !virtual && !ownKinds.some(own => isSame(own, kind)) && !foreignKinds.some(([foreign]) => isSame(foreign, kind)),
);

/** Returns the key of an object. */
export const storeKey = (path: string, {metadata}: KubeObject): string =>
  [storeRoot, path, ...(metadata?.namespace ? [metadata.namespace] : []), metadata?.name ?? ''].join('/');

/** Reads all objects that the user may read. Rejects if the cluster cannot be read at all. */
export const readCluster = async (client: Client, now: number): Promise<Source> => {
  const {naming} = client;
  const objects = new Map<string, KubeObject>();
  const notes: string[] = [];
  const served = new ServedKinds(client);
  const read = async (kind: Kind, path: string, apiVersion: string): Promise<void> => {
    try {
      for await (const page of pagesOf(client.resource(kind))) {
        for (const object of page) objects.set(storeKey(path, object), {...object, kind: kind.kind, apiVersion});
        if (objects.size > mostObjects)
          throw new Error(`the cluster has more than ${mostObjects} objects, which is more than a forecast takes`);
      }
    } catch (error) {
      if (!isForbidden(error)) throw error;
      notes.push(`you may not list ${groupResource(naming, kind)}: the forecast goes without them`);
    }
  };
  for (const definition of copied) {
    const {kind} = definition;
    const apiVersion = apiVersionOf(naming, kind);
    if (await served.find({apiVersion, kind: kind.kind})) await read(kind, storagePath(definition, naming), apiVersion);
  }
  for (const definition of definitionsIn(objects, naming)) {
    const version = readVersion(definition);
    if (!version) continue;
    const {group, names, scope} = definition.spec;
    const kind = kindOnWire(naming, {group, version, kind: names.kind, plural: names.plural, namespaced: scope === 'Namespaced'});
    await read(kind, `${group}/${names.plural}`, `${group}/${version}`);
  }
  for (const [kind, text] of foreignKinds) notes.push(...(await foreignNotes(client, kind, text)));
  return {naming, at: now, objects, notes};
};

const definitionsIn = (objects: ReadonlyMap<string, KubeObject>, naming: Naming): readonly Definition[] => {
  const apiVersion = apiVersionOf(naming, kinds.customResourceDefinitions);
  return [...objects.values()].filter(
    object => object.kind === kinds.customResourceDefinitions.kind && object.apiVersion === apiVersion,
  ) as unknown as Definition[];
};

const readVersion = (definition: Definition): string | undefined => {
  if (!isServed(definition)) return undefined;
  const versions = definition.spec.versions.filter(({served}) => served);
  return (versions.find(({storage}) => storage) ?? versions[0])?.name;
};

const foreignNotes = async (client: Client, kind: Kind, text: string): Promise<string[]> => {
  try {
    const {items} = await client.resource<KubeObject & {spec?: {service?: unknown}}>(kind).list();
    const foreign = kind.kind === kinds.apiServices.kind ? items.filter(({spec}) => spec?.service) : items;
    return foreign.length > 0 ? [`${text} are left out: ${foreign.map(({metadata}) => metadata?.name).join(', ')}`] : [];
  } catch (error) {
    if (isForbidden(error)) return [`${text} are left out`];
    throw error;
  }
};

/** Reads the objects of a snapshot file, as of when it was taken. Rejects with an error of one line. */
export const readSnapshot = async (file: string): Promise<Source> => {
  const notes: string[] = [];
  const objects = new Map<string, KubeObject>();
  try {
    const reader = await SnapshotReader.open(createReadStream(file), canonicalValue);
    const {naming: name, taken} = reader.header;
    const naming = namingOf(name as NamingName);
    const leftOut = [...ownKinds, ...foreignKinds.map(([kind]) => kind)].map(kind => pathOf(kind, naming));
    let encrypted = 0;
    for await (const {key, value, revision} of reader.records()) {
      const path = key.slice(storeRoot.length + 1);
      if (!key.startsWith(`${storeRoot}/`) || leftOut.some(each => path.startsWith(`${each}/`))) continue;
      if (!isRecord(value)) encrypted++;
      else objects.set(key, recordObject<KubeObject>(value, revision));
    }
    if (encrypted > 0) notes.push(`${encrypted} records are encrypted or no objects: the forecast goes without them`);
    return {naming, at: parseTime(taken) ?? 0, objects, notes};
  } catch (error) {
    throw new Error(`the snapshot ${file} cannot be used: ${messageOf(error)}`, {cause: error});
  }
};

const pathOf = (kind: Kind, naming: Naming): string => {
  const definition = resources.find(({kind: each}) => isSame(each, kind));
  return definition ? storagePath(definition, naming) : kind.plural;
};

/** Returns the records of the objects, by their keys. */
export const recordsOf = function* ({objects}: Source): Generator<readonly [key: string, value: Buffer], void> {
  for (const [key, object] of objects) yield [key, encodeRecord(object)];
};
