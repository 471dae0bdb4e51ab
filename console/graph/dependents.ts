// What belongs to an object by owner references, directly or through others; of a namespace, all that is in it.

import {messageOf} from '#src/base/message.js';
import {ApiError, persistently, together} from '#page/api/call.js';
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
  /** The kinds that could not be read, or not whole. */
  readonly unread: readonly string[];
}

/** The most objects of a kind that are looked at. */
const most = 1000;

/** So many kinds are named that could not be read. */
const shownUnread = 4;

/** Events go with time, not with what they are about, and are many; some kinds are another name of others. */
const isLookedAt = ({plural, verbs}: Resource): boolean => verbs.includes('list') && verbs.includes('delete') && plural !== 'events';

/** Names a kind that could not be read, and why. */
export const unreadKind = ({plural}: Resource, error: unknown): string =>
  `${plural} (${error instanceof ApiError && error.status === 403 ? 'forbidden' : messageOf(error)})`;

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
): Promise<{readonly all: readonly Dependent[]; readonly unread: readonly string[]}> => {
  const unread: string[] = [];
  const kinds = resources.value.filter(each => isLookedAt(each) && (namespace === '' || each.isNamespaced));
  const lists = await together(kinds, async resource => {
    try {
      const options = {most, signal, isMetadata: true};
      let {objects, isWhole} = await listObjects(resource, namespace, options);
      if (!isWhole && labels !== undefined && resource.plural === 'pods' && resource.group === '')
        ({objects, isWhole} = await listObjects(resource, namespace, {...options, labels}));
      if (!isWhole) unread.push(resource.plural);
      return objects.map(({metadata}) => ({resource, metadata}));
    } catch (error) {
      if (signal.aborted) throw error;
      unread.push(unreadKind(resource, error));
      return [];
    }
  });
  return {all: lists.flat(), unread};
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
    const {all, unread} = await scan(name, undefined, signal);
    return {dependents: all, unread};
  }
  const object = await persistently(() => readObject(resource, namespace, name, signal), signal);
  const {all, unread} = await scanAround(resource, object, signal);
  return {dependents: ownedBy(uid, all), unread};
};

/** Says which kinds could not be read whole, and why where they could not be read at all. */
export const unreadText = (unread: readonly string[]): string => {
  const more = unread.length - shownUnread;
  return `Not read whole: ${unread.slice(0, shownUnread).join(', ')}${more > 0 ? ` and ${more} more kinds` : ''}.`;
};
