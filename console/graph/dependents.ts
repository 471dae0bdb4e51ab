// What belongs to an object by owner references, directly or through others; of a namespace, all that is in it.

import {together} from '#page/api/call.js';
import {resources, type Resource} from '#page/api/kinds.js';
import {listObjects, readObject, type AnyObject, type OwnerReference} from '#page/api/objects.js';
import type {Metadata} from '#page/api/table.js';
import {ownsSelected, selectorOf} from './references.js';

export interface Dependent {
  readonly resource: Resource;
  readonly metadata: Metadata & {readonly ownerReferences?: readonly OwnerReference[]};
}

export interface Dependents {
  readonly dependents: readonly Dependent[];
  /** Whether some kinds could not be read, or not whole. */
  readonly isPartial: boolean;
}

/** The most objects of a kind that are looked at. */
const most = 1000;

/** Events go with time, not with what they are about, and are many; some kinds are another name of others. */
const isLookedAt = ({plural, verbs}: Resource): boolean => verbs.includes('list') && verbs.includes('delete') && plural !== 'events';

/** The pods that an object selects, if it has what it selects. */
const selectedPods = (resource: Resource, object: AnyObject): string | undefined =>
  ownsSelected(resource) ? selectorOf(object, resource) : undefined;

/**
 * Returns the metadata of the objects of all kinds in a namespace, or in all with the kinds without one. Where there
 * are too many pods, those with the labels are among them.
 */
const scan = async (
  namespace: string,
  labels: string | undefined,
  signal: AbortSignal,
): Promise<{readonly all: readonly Dependent[]; readonly isPartial: boolean}> => {
  let isPartial = false;
  const kinds = resources.value.filter(each => isLookedAt(each) && (namespace === '' || each.isNamespaced));
  const lists = await together(kinds, async resource => {
    try {
      const options = {most, signal, isMetadata: true};
      let {objects, isWhole} = await listObjects(resource, namespace, options);
      if (!isWhole && labels !== undefined && resource.plural === 'pods' && resource.group === '')
        ({objects, isWhole} = await listObjects(resource, namespace, {...options, labels}));
      if (!isWhole) isPartial = true;
      return objects.map(({metadata}) => ({resource, metadata}));
    } catch (error) {
      if (signal.aborted) throw error;
      isPartial = true;
      return [];
    }
  });
  return {all: lists.flat(), isPartial};
};

/** Returns the metadata of what may belong to an object or have it. */
export const scanAround = (resource: Resource, object: AnyObject, signal: AbortSignal): ReturnType<typeof scan> =>
  scan(object.metadata.namespace ?? '', selectedPods(resource, object), signal);

/** Returns those that an object owns, and those that they own in turn. */
export const ownedBy = (uid: string, all: readonly Dependent[]): Dependent[] => {
  const byOwner = new Map<string, Dependent[]>();
  for (const each of all)
    for (const {uid: owner} of each.metadata.ownerReferences ?? []) {
      const known = byOwner.get(owner);
      if (known) known.push(each);
      else byOwner.set(owner, [each]);
    }
  const found = new Map<string, Dependent>();
  const open = [uid];
  for (let next = open.pop(); next !== undefined; next = open.pop())
    for (const each of byOwner.get(next) ?? [])
      if (!found.has(each.metadata.uid)) {
        found.set(each.metadata.uid, each);
        open.push(each.metadata.uid);
      }
  return [...found.values()];
};

export const dependentsOf = async (
  resource: Resource,
  {namespace, name, uid}: {readonly namespace: string; readonly name: string; readonly uid: string},
  signal: AbortSignal,
): Promise<Dependents> => {
  const isNamespace = resource.plural === 'namespaces' && resource.group === '';
  if (isNamespace) {
    const {all, isPartial} = await scan(name, undefined, signal);
    return {dependents: all, isPartial};
  }
  const {all, isPartial} = await scanAround(resource, await readObject(resource, namespace, name, signal), signal);
  return {dependents: ownedBy(uid, all), isPartial};
};
