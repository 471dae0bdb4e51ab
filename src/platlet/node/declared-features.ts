// The features that a node declares under the gate NodeDeclaredFeatures: what it can do that not every node can.

import type {GateName} from '#src/options/gate-table.js';
import type {Settings} from '#src/platlet/config/fields.js';

type Policies = Pick<Settings, 'cpuManagerPolicy'>;

/** Returns the features that a node declares, sorted; undefined without the gate. */
export const declaredFeatures = ({cpuManagerPolicy}: Policies, gate: (name: GateName) => boolean): readonly string[] | undefined => {
  if (!gate('NodeDeclaredFeatures')) return undefined;
  const resizesGuaranteedCpu =
    cpuManagerPolicy === 'none' || (cpuManagerPolicy === 'static' && gate('InPlacePodVerticalScalingExclusiveCPUs'));
  return [
    ...(resizesGuaranteedCpu ? ['GuaranteedQoSPodCPUResize'] : []),
    ...(gate('InPlacePodLevelResourcesVerticalScaling') ? ['InPlacePodLevelResourcesVerticalScaling'] : []),
    ...(gate('RestartAllContainersOnContainerExits') ? ['RestartAllContainersOnContainerExits'] : []),
  ];
};
