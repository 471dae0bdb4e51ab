import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';

/** The annotations of deployments and replica sets that the controller uses. */
export interface AnnotationKeys {
  /** The revision, on both. */
  readonly revision: string;
  /** Earlier revisions of a replica set, oldest first. */
  readonly history: string;
  /** The deployment's replicas when the replica set was last scaled. */
  readonly desired: string;
  /** The deployment's replicas plus surge at that time. */
  readonly maxReplicas: string;
  /** Requests a rollback to a revision. */
  readonly rollback: string;
  /** Annotations that are not copied between a deployment and its replica sets. */
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

/** Parses a whole number; undefined for anything else. */
export const wholeNumber = (text: string | undefined): number | undefined =>
  text !== undefined && /^[+-]?\d+$/.test(text) ? Number(text) : undefined;

/** Parses a revision, which may exceed the range of exact numbers; undefined if it does not fit in 64 bits. */
export const parseRevision = (text: string): bigint | undefined => {
  const revisionNumber = /^[+-]?\d+$/.test(text) ? BigInt(text.replace('+', '')) : undefined;
  return revisionNumber === undefined || BigInt.asIntN(64, revisionNumber) !== revisionNumber ? undefined : revisionNumber;
};

/** Returns the revision of an object: 0n for none, undefined for an invalid one. */
export const revisionOf = (object: Frozen<KubeObject>, keys: AnnotationKeys): bigint | undefined =>
  parseRevision(annotationsOf(object)[keys.revision] ?? '0');

const maxHistoryLength = 2000;

/** Appends a revision to the history, dropping the oldest ones beyond the length limit. */
const appendToHistory = (history: string | undefined, revision: string): string => {
  if (!history) return revision;
  const revisions = history.split(',');
  let length = history.length + revision.length + 1;
  let first = 0;
  while (length > maxHistoryLength && first < revisions.length) length -= revisions[first++]!.length + 1;
  return length <= maxHistoryLength ? [...revisions.slice(first), revision].join(',') : history;
};

/** Returns the annotations that a replica set inherits from its deployment. */
const inheritedAnnotations = (from: Annotations, {own}: AnnotationKeys): Annotations =>
  Object.fromEntries(Object.entries(from).filter(([key]) => !own.has(key)));

/**
 * Returns the annotations of the newest replica set, with at least `revision`: the deployment's override its own. One
 * with an invalid revision is left unchanged.
 */
export const annotationsOfNewest = (
  deployment: Frozen<KubeObject>,
  own: Annotations,
  revision: bigint,
  keys: AnnotationKeys,
): Annotations => {
  const former = own[keys.revision];
  const revisionNumber = parseRevision(former || '0');
  if (revisionNumber === undefined) return own;
  const next: Record<string, string> = {...own, ...inheritedAnnotations(annotationsOf(deployment), keys)};
  if (revisionNumber >= revision) return next;
  next[keys.revision] = String(revision);
  if (former !== undefined) next[keys.history] = appendToHistory(own[keys.history], former);
  return next;
};

/** Returns the size annotations of a replica set. */
export const sizeAnnotations = (desired: number, maxReplicas: number, keys: AnnotationKeys): Annotations => ({
  [keys.desired]: String(desired),
  [keys.maxReplicas]: String(maxReplicas),
});

/** Returns the annotations of a deployment after a rollback: the replica set's, except for the controller's own. */
export const annotationsAfterRollback = (deployment: Frozen<KubeObject>, set: Frozen<KubeObject>, keys: AnnotationKeys): Annotations => ({
  ...Object.fromEntries(Object.entries(annotationsOf(deployment)).filter(([key]) => keys.own.has(key))),
  ...inheritedAnnotations(annotationsOf(set), keys),
});
