// The pods of a workload, and which of them holds it up.

import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {labelSelectorOf, type LabelSelectorObject} from '#src/api/selectors/label-selector.js';
import type {KubeObject} from '#src/api/types.js';
import {isControlledBy} from '#src/model/owners.js';
import {isActive, isAvailable, isReady} from '#src/model/pod/state.js';
import type {Cluster} from '#src/why/facts/cluster.js';
import {referenceTo, type Reference} from '#src/why/facts/reference.js';

/** The pods that a workload controls, by name. */
export const podsOf = async (owner: KubeObject, selector: LabelSelectorObject | undefined, cluster: Cluster): Promise<readonly Pod[]> => {
  const labelSelector = labelSelectorOf(selector).toString();
  const pods = await cluster.list(kinds.pods, {namespace: owner.metadata?.namespace ?? '', ...(labelSelector ? {labelSelector} : {})});
  return pods
    .filter(pod => isControlledBy(pod, owner))
    .sort((a, b) => (a.metadata?.name ?? '').localeCompare(b.metadata?.name ?? '', 'en', {numeric: true}));
};

/** How far a pod is from being ready: those that are not placed first, then those that do not run. */
const weight = ({status, spec}: Pod): number =>
  status?.phase === 'Failed' ? 3 : !spec?.nodeName ? 0 : status?.phase === 'Pending' ? 1 : 2;

/** The pod that holds up its workload most: an active one that is not ready. */
export const heldUp = (pods: readonly Pod[]): Pod | undefined =>
  [...pods].filter(pod => isActive(pod) && !isReady(pod)).sort((a, b) => weight(a) - weight(b))[0];

/** The pod, if any, that is ready and must stay so for a while before it counts as available. */
export const tooYoung = (pods: readonly Pod[], minReadySeconds: number, now: number): Pod | undefined =>
  pods.find(pod => isReady(pod) && !isAvailable(pod, minReadySeconds, now));

export const podReference = (pod: Pod | undefined): Reference | undefined => pod && referenceTo(kinds.pods, pod);

/** `pod web-0`. */
export const podText = (pod: Pod): string => `pod ${pod.metadata?.name}`;
