import {selecting} from '#informers/selecting.js';
import {apiVersionOf, kinds, type Kind, type ObjectOf} from '#src/api/kinds/index.js';
import {labelSelector, labelSelectorOf, selectorForLabels, type LabelSelector} from '#src/api/selectors/label-selector.js';
import type {KubeObject} from '#src/api/types.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import type {Cluster} from '#src/scheduler/framework/plugin.js';

interface Selecting extends KubeObject {
  spec?: {selector?: unknown};
}

/** The kinds of owners that select pods, and the form of their selectors. */
const owners: readonly {readonly kind: Kind<Selecting>; readonly isLabelMap: boolean}[] = [
  {kind: kinds.replicationControllers as Kind<Selecting>, isLabelMap: true},
  {kind: kinds.replicaSets as Kind<Selecting>, isLabelMap: false},
  {kind: kinds.statefulSets as Kind<Selecting>, isLabelMap: false},
];

const ownSelector = ({pod, namespace}: PodInfo, {lister, naming}: Cluster): LabelSelector | undefined => {
  const reference = pod.metadata?.ownerReferences?.find(({controller}) => controller);
  const owner = owners.find(({kind}) => kind.kind === reference?.kind && apiVersionOf(naming, kind) === reference.apiVersion);
  const object = owner && lister(owner.kind).get({namespace, name: reference!.name});
  const selector = object?.spec?.selector;
  if (!owner || !selector) return undefined;
  return owner.isLabelMap ? selectorForLabels(selector as Record<string, string>) : labelSelectorOf(selector);
};

const services = selecting<ObjectOf<typeof kinds.services>, Record<string, string>>(({spec}) => spec?.selector, selectorForLabels);

/** Returns the selector of the pod's group: the combined selectors of its services and its owner. */
export const selectorOfOwners = (pod: PodInfo, cluster: Cluster): LabelSelector => {
  const labels: Record<string, string> = {};
  for (const {spec} of services.parentsOf(cluster.lister(kinds.services), pod.pod)) Object.assign(labels, spec?.selector);
  return labelSelector([...selectorForLabels(labels).requirements, ...(ownSelector(pod, cluster)?.requirements ?? [])]);
};
