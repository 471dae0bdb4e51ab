import {selecting, type Selecting} from '#informers/selecting.js';
import type {Frozen} from '#src/api/key.js';
import {apiVersionOf, kinds, type Kind, type ObjectOf} from '#src/api/kinds/index.js';
import {labelSelector, selectorForLabels, type LabelSelector, type LabelSelectorObject} from '#src/api/selectors/label-selector.js';
import type {KubeObject} from '#src/api/types.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import type {Cluster} from '#src/scheduler/framework/plugin.js';

interface SelectingObject extends KubeObject {
  spec?: {selector?: unknown};
}

const byLabels = selecting<SelectingObject, Record<string, string>>(
  ({spec}) => spec?.selector as Frozen<Record<string, string>> | undefined,
  selectorForLabels,
);
const bySelector = selecting<SelectingObject>(({spec}) => spec?.selector as Frozen<LabelSelectorObject> | undefined);

/** The kinds of owners that select pods, and how. */
const owners: readonly {readonly kind: Kind<SelectingObject>; readonly selecting: Selecting<SelectingObject>}[] = [
  {kind: kinds.replicationControllers as Kind<SelectingObject>, selecting: byLabels},
  {kind: kinds.replicaSets as Kind<SelectingObject>, selecting: bySelector},
  {kind: kinds.statefulSets as Kind<SelectingObject>, selecting: bySelector},
];

const ownSelector = ({pod, namespace}: PodInfo, {lister, naming}: Cluster): LabelSelector | undefined => {
  const reference = pod.metadata?.ownerReferences?.find(({controller}) => controller);
  const owner = owners.find(({kind}) => kind.kind === reference?.kind && apiVersionOf(naming, kind) === reference.apiVersion);
  const object = owner && lister(owner.kind).get({namespace, name: reference!.name});
  return object && owner.selecting.selectorOf(object);
};

const services = selecting<ObjectOf<typeof kinds.services>, Record<string, string>>(({spec}) => spec?.selector, selectorForLabels);

/** Returns the selector of the pod's group: the combined selectors of its services and its owner. */
export const selectorOfOwners = (pod: PodInfo, cluster: Cluster): LabelSelector => {
  const labels: Record<string, string> = {};
  for (const {spec} of services.parentsOf(cluster.lister(kinds.services), pod.pod)) Object.assign(labels, spec?.selector);
  return labelSelector([...selectorForLabels(labels).requirements, ...(ownSelector(pod, cluster)?.requirements ?? [])]);
};
