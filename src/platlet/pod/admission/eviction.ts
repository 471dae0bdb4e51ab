import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {isTolerated} from '#src/model/taints.js';
import {podQosClass} from '#src/model/pod/qos.js';
import {isCritical} from '#src/platlet/pod/origin.js';
import type {Rejection} from './rejection.js';

/** Returns why a node under pressure refuses a pod. `conditions`: the types of the pressures that are. */
export const pressureRejection = (naming: Naming, conditions: readonly string[], pod: Frozen<Pod>): Rejection | undefined => {
  if (conditions.length === 0 || isCritical(naming, pod)) return undefined;
  if (conditions.length === 1 && conditions[0] === 'MemoryPressure') {
    if (podQosClass(pod as Pod) !== 'BestEffort') return undefined;
    if (isTolerated({key: naming.subKey('node', 'memory-pressure'), effect: 'NoSchedule'}, pod.spec?.tolerations)) return undefined;
  }
  return {reason: 'Evicted', message: `The node had condition: [${conditions.join(' ')}]. `};
};
