import type {Frozen} from '#src/api/key.js';
import type {ObjectOf, kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {parseTime} from '#src/api/time.js';
import {resolveIntOrPercent} from '#src/model/int-or-percent.js';

export type DaemonSet = Frozen<ObjectOf<typeof kinds.daemonSets>>;
export type DaemonSetStatus = NonNullable<ObjectOf<typeof kinds.daemonSets>['status']>;

/** The label of pods and revisions with the template hash. */
export const hashLabel = 'controller-revision-hash';
export const generationLabel = 'pod-template-generation';

/** Returns the set's template generation from the deprecated annotation; undefined if it is not set. */
export const templateGeneration = ({metadata}: DaemonSet): string | undefined => {
  const text = metadata?.annotations?.['deprecated.daemonset.template.generation'] ?? '';
  return /^[+-]?\d{1,18}$/.test(text) ? String(BigInt(text)) : undefined;
};

/** Whether a pod is of the current template. */
export const isUpdated = ({metadata}: Frozen<Pod>, set: DaemonSet, hash: string): boolean => {
  const {[hashLabel]: made, [generationLabel]: generation} = metadata?.labels ?? {};
  return (hash !== '' && made === hash) || (generation !== undefined && generation === templateGeneration(set));
};

const rolling = ({spec}: DaemonSet) => (spec?.updateStrategy?.type === 'RollingUpdate' ? spec.updateStrategy.rollingUpdate : undefined);

/** Returns how many of `desired` nodes may have a second pod during an update. */
export const maxSurge = (set: DaemonSet, desired: number): number => resolveIntOrPercent(rolling(set)?.maxSurge ?? 0, desired, 'up');

/** Returns how many of `desired` nodes may be without an available pod. */
export const maxUnavailable = (set: DaemonSet, desired: number): number =>
  resolveIntOrPercent(rolling(set)?.maxUnavailable ?? 0, desired, 'up');

/** Whether a new pod may be created before the old one is deleted. */
export const allowsSurge = (set: DaemonSet): boolean => maxSurge(set, 1) > 0;

/** Scheduled pods first, then the older, then by name. */
export const byAge = (a: Frozen<Pod>, b: Frozen<Pod>): number =>
  Number(!a.spec?.nodeName) - Number(!b.spec?.nodeName) ||
  (parseTime(a.metadata?.creationTimestamp) ?? 0) - (parseTime(b.metadata?.creationTimestamp) ?? 0) ||
  ((a.metadata?.name ?? '') < (b.metadata?.name ?? '') ? -1 : 1);
