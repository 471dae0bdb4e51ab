// The features that a node must declare for a pod (KEP-5328). Names are those of the node's `status.declaredFeatures`.

import {sameContent} from '#src/api/equal.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod, PodSpec} from '#src/api/pod.js';
import {compareQuantities, parseQuantity, type Quantity} from '#src/api/quantity.js';

const cpuRequests = ({containers = []}: Readonly<PodSpec>): Quantity[] =>
  containers.map(({resources}) => parseQuantity(resources?.requests?.['cpu'] ?? '0'));

/** Changing the CPUs of a guaranteed pod may concern CPUs that its containers have for themselves. */
const resizesGuaranteedCpu = (old: Readonly<Pod>, now: Readonly<PodSpec>): boolean => {
  if (old.status && old.status.qosClass !== 'Guaranteed') return false;
  const after = cpuRequests(now);
  return cpuRequests(old.spec!).some((before, index) => after[index] !== undefined && compareQuantities(before, after[index]) !== 0);
};

const changes: readonly (readonly [feature: string, isNeeded: (old: Readonly<Pod>, now: Readonly<PodSpec>) => boolean])[] = [
  ['GuaranteedQoSPodCPUResize', resizesGuaranteedCpu],
  ['InPlacePodLevelResourcesVerticalScaling', ({spec}, {resources}) => !sameContent(spec?.resources, resources)],
];

/** Returns the features that the node of a pod needs for a change of the pod's spec. */
export const featuresForUpdate = (old: Readonly<Pod>, now: Readonly<PodSpec>): string[] =>
  changes.flatMap(([feature, isNeeded]) => (isNeeded(old, now) ? [feature] : []));

/** Returns the features that a node needs to run a pod. */
export const featuresForScheduling = ({containers = [], initContainers = []}: Frozen<PodSpec>): string[] =>
  [...containers, ...initContainers].some(({restartPolicyRules = []}) =>
    restartPolicyRules.some(({action}) => action === 'RestartAllContainers'),
  )
    ? ['RestartAllContainersOnContainerExits']
    : [];
