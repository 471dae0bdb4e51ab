import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';

/** The annotations of deployments and their replica sets that mean something to the controller. */
export interface Keys {
  /** The place in the history, on both. */
  readonly revision: string;
  /** The places a replica set had before, from the oldest on. */
  readonly history: string;
  /** How many pods the deployment asked for when the replica set was last sized. */
  readonly desired: string;
  /** How many it would then have had at most. */
  readonly most: string;
  /** Asks a deployment to go back to a revision. */
  readonly rollback: string;
  /** What is not passed on between a deployment and its replica sets. */
  readonly own: ReadonlySet<string>;
}

export const keysIn = (naming: Naming): Keys => {
  const key = (name: string) => naming.subKey('deployment', name);
  const keys = {
    revision: key('revision'),
    history: key('revision-history'),
    desired: key('desired-replicas'),
    most: key('max-replicas'),
    rollback: 'deprecated.deployment.rollback.to',
  };
  return {...keys, own: new Set([...Object.values(keys), naming.annotations.lastApplied])};
};

type Annotations = Readonly<Record<string, string>>;

export const annotationsOf = ({metadata}: Frozen<KubeObject>): Annotations => metadata?.annotations ?? {};

/** A whole number as annotations carry it; undefined for anything else. */
export const wholeNumber = (text: string | undefined): number | undefined => (text !== undefined && /^[+-]?\d+$/.test(text) ? Number(text) : undefined);

/** A place in the history as annotations carry it, which may be one that no plain number holds exactly; undefined for what has no place in 64 bits. */
export const placeOf = (text: string): bigint | undefined => {
  const place = /^[+-]?\d+$/.test(text) ? BigInt(text.replace('+', '')) : undefined;
  return place === undefined || BigInt.asIntN(64, place) !== place ? undefined : place;
};

/** The place of an object in the history: 0 for none, undefined for one that is no number. */
export const revisionOf = (object: Frozen<KubeObject>, keys: Keys): bigint | undefined => placeOf(annotationsOf(object)[keys.revision] ?? '0');

const longestHistory = 2000;

/** The history with one more place at its end; what is too old for its length falls off its front. */
const longerHistory = (history: string | undefined, revision: string): string => {
  if (!history) return revision;
  const places = history.split(',');
  let length = history.length + revision.length + 1;
  let first = 0;
  while (length > longestHistory && first < places.length) length -= places[first++]!.length + 1;
  return length <= longestHistory ? [...places.slice(first), revision].join(',') : history;
};

/** What a replica set takes over from its deployment. */
const passedOn = (from: Annotations, {own}: Keys): Annotations => Object.fromEntries(Object.entries(from).filter(([key]) => !own.has(key)));

/**
 * The annotations of the replica set that is to be the newest, at least at `revision`: the deployment's win over its own, and others of its own stay. One whose
 * revision cannot be read is left alone.
 */
export const annotationsOfNewest = (deployment: Frozen<KubeObject>, own: Annotations, revision: bigint, keys: Keys): Annotations => {
  const former = own[keys.revision];
  const place = placeOf(former || '0');
  if (place === undefined) return own;
  const next: Record<string, string> = {...own, ...passedOn(annotationsOf(deployment), keys)};
  if (place >= revision) return next;
  next[keys.revision] = String(revision);
  if (former !== undefined) next[keys.history] = longerHistory(own[keys.history], former);
  return next;
};

/** What a replica set notes of the sizes it was given last. */
export const sizeAnnotations = (desired: number, most: number, keys: Keys): Annotations => ({[keys.desired]: String(desired), [keys.most]: String(most)});

/** The annotations of a deployment that goes back to a replica set: the set's, but for those that are its own. */
export const annotationsAfterRollback = (deployment: Frozen<KubeObject>, set: Frozen<KubeObject>, keys: Keys): Annotations => ({
  ...Object.fromEntries(Object.entries(annotationsOf(deployment)).filter(([key]) => keys.own.has(key))),
  ...passedOn(annotationsOf(set), keys),
});
