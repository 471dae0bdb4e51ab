import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';

/** The annotations of deployments and their replica sets that mean something to the controller. */
export interface AnnotationKeys {
  /** The place in the history, on both. */
  readonly revision: string;
  /** The places a replica set had before, from the oldest on. */
  readonly history: string;
  /** How many pods the deployment asked for when the replica set was last sized. */
  readonly desired: string;
  /** How many it would then have had at most. */
  readonly maxReplicas: string;
  /** Asks a deployment to go back to a revision. */
  readonly rollback: string;
  /** What is not passed on between a deployment and its replica sets. */
  readonly own: ReadonlySet<string>;
}

export const keysIn = (naming: Naming): AnnotationKeys => {
  const key = (name: string) => naming.subKey('deployment', name);
  const keys = {
    revision: key('revision'),
    history: key('revision-history'),
    desired: key('desired-replicas'),
    maxReplicas: key('max-replicas'),
    rollback: 'deprecated.deployment.rollback.to',
  };
  return {...keys, own: new Set([...Object.values(keys), naming.annotations.lastApplied])};
};

type Annotations = Readonly<Record<string, string>>;

export const annotationsOf = ({metadata}: Frozen<KubeObject>): Annotations => metadata?.annotations ?? {};

/** A whole number as annotations carry it; undefined for anything else. */
export const wholeNumber = (text: string | undefined): number | undefined => (text !== undefined && /^[+-]?\d+$/.test(text) ? Number(text) : undefined);

/** A place in the history as annotations carry it, which may be one that no plain number holds exactly; undefined for what has no place in 64 bits. */
export const parseRevision = (text: string): bigint | undefined => {
  const revisionNumber = /^[+-]?\d+$/.test(text) ? BigInt(text.replace('+', '')) : undefined;
  return revisionNumber === undefined || BigInt.asIntN(64, revisionNumber) !== revisionNumber ? undefined : revisionNumber;
};

/** The place of an object in the history: 0 for none, undefined for one that is no number. */
export const revisionOf = (object: Frozen<KubeObject>, keys: AnnotationKeys): bigint | undefined => parseRevision(annotationsOf(object)[keys.revision] ?? '0');

const maxHistoryLength = 2000;

/** The history with one more place at its end; what is too old for its length falls off its front. */
const appendToHistory = (history: string | undefined, revision: string): string => {
  if (!history) return revision;
  const revisions = history.split(',');
  let length = history.length + revision.length + 1;
  let first = 0;
  while (length > maxHistoryLength && first < revisions.length) length -= revisions[first++]!.length + 1;
  return length <= maxHistoryLength ? [...revisions.slice(first), revision].join(',') : history;
};

/** What a replica set takes over from its deployment. */
const inheritedAnnotations = (from: Annotations, {own}: AnnotationKeys): Annotations => Object.fromEntries(Object.entries(from).filter(([key]) => !own.has(key)));

/**
 * The annotations of the replica set that is to be the newest, at least at `revision`: the deployment's win over its own, and others of its own stay. One whose
 * revision cannot be read is left alone.
 */
export const annotationsOfNewest = (deployment: Frozen<KubeObject>, own: Annotations, revision: bigint, keys: AnnotationKeys): Annotations => {
  const former = own[keys.revision];
  const revisionNumber = parseRevision(former || '0');
  if (revisionNumber === undefined) return own;
  const next: Record<string, string> = {...own, ...inheritedAnnotations(annotationsOf(deployment), keys)};
  if (revisionNumber >= revision) return next;
  next[keys.revision] = String(revision);
  if (former !== undefined) next[keys.history] = appendToHistory(own[keys.history], former);
  return next;
};

/** What a replica set notes of the sizes it was given last. */
export const sizeAnnotations = (desired: number, maxReplicas: number, keys: AnnotationKeys): Annotations => ({[keys.desired]: String(desired), [keys.maxReplicas]: String(maxReplicas)});

/** The annotations of a deployment that goes back to a replica set: the set's, but for those that are its own. */
export const annotationsAfterRollback = (deployment: Frozen<KubeObject>, set: Frozen<KubeObject>, keys: AnnotationKeys): Annotations => ({
  ...Object.fromEntries(Object.entries(annotationsOf(deployment)).filter(([key]) => keys.own.has(key))),
  ...inheritedAnnotations(annotationsOf(set), keys),
});
