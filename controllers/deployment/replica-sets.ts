import {sameContent} from '#src/api/equal.js';
import type {Frozen} from '#src/api/key.js';
import type {PodTemplateSpec} from '#src/api/pod.js';
import {parseTime} from '#src/api/time.js';
import {revisionOf, type AnnotationKeys} from './annotations.js';
import type {Deployment, ReplicaSet} from './kinds.js';

/** Returns the number of requested pods. */
export const replicasOf = ({spec}: Deployment | ReplicaSet): number => spec?.replicas ?? 1;

/** The label that distinguishes the replica sets of a deployment, and their pods. */
export const hashLabel = 'pod-template-hash';

const withoutHash = ({metadata, ...rest}: Frozen<PodTemplateSpec>): object => {
  const {[hashLabel]: _, ...labels} = metadata?.labels ?? {};
  return {...rest, metadata: {...metadata, labels}};
};

/** Whether two templates create the same pods. */
export const sameTemplate = (a: Frozen<PodTemplateSpec> = {}, b: Frozen<PodTemplateSpec> = {}): boolean =>
  sameContent(withoutHash(a), withoutHash(b));

const createdAt = ({metadata}: ReplicaSet): number => parseTime(metadata?.creationTimestamp) ?? 0;
const nameOf = ({metadata}: ReplicaSet): string => metadata?.name ?? '';

/** The oldest first. */
export const byAge = (a: ReplicaSet, b: ReplicaSet): number =>
  createdAt(a) - createdAt(b) || (nameOf(a) < nameOf(b) ? -1 : nameOf(a) > nameOf(b) ? 1 : 0);

/** The lowest revision first; an invalid one counts as none. */
export const byRevision =
  (keys: AnnotationKeys) =>
  (a: ReplicaSet, b: ReplicaSet): number =>
    Number((revisionOf(a, keys) ?? 0n) - (revisionOf(b, keys) ?? 0n)) || byAge(a, b);

/** Returns the replica set of the current template, the oldest of several. `sets` are in order of age. */
export const newestOf = ({spec}: Deployment, sets: readonly ReplicaSet[]): ReplicaSet | undefined =>
  sets.find(set => sameTemplate(set.spec?.template, spec?.template));

/** Whether the set requests pods. */
export const isActive = (set: ReplicaSet): boolean => replicasOf(set) > 0;

/** Whether the status of the set describes its present spec. */
export const isObserved = ({metadata, status}: ReplicaSet): boolean => (status?.observedGeneration ?? 0) >= (metadata?.generation ?? 0);

const sum = (sets: readonly ReplicaSet[], of: (set: ReplicaSet) => number | undefined): number =>
  sets.reduce((total, set) => total + (of(set) ?? 0), 0);

/** Returns the requested pods of all sets. */
export const wantedIn = (sets: readonly ReplicaSet[]): number => sum(sets, replicasOf);
/** Returns the pods of all sets that are requested, or still there: those whose deletion failed or has not begun. */
export const presentIn = (sets: readonly ReplicaSet[]): number => sum(sets, set => Math.max(replicasOf(set), set.status?.replicas ?? 0));
/** Returns the sum of a status counter. */
export const countedIn = (sets: readonly ReplicaSet[], counter: 'replicas' | 'readyReplicas' | 'availableReplicas'): number =>
  sum(sets, ({status}) => status?.[counter]);

/**
 * Returns the number of terminating pods; undefined if a set does not report it, although its status was once written.
 */
export const terminatingIn = (sets: readonly ReplicaSet[]): number | undefined =>
  sets.some(({status}) => status?.terminatingReplicas === undefined && status?.observedGeneration)
    ? undefined
    : sum(sets, ({status}) => status?.terminatingReplicas);
