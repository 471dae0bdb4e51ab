import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {isTolerated} from '#src/model/taints.js';
import {podQosClass} from '#src/model/pod/qos.js';
import {isCritical} from '#src/platlet/pod/origin.js';
import type {Rejection} from './rejection.js';

/**
 * Returns the rejection of a pod by a node under pressure. `conditions`: the types of the pressure conditions that are
 * true.
 */
export const pressureRejection = (naming: Naming, conditions: readonly string[], pod: Frozen<Pod>): Rejection | undefined => {
  if (conditions.length === 0 || isCritical(naming, pod)) return undefined;
  if (conditions.length === 1 && conditions[0] === 'MemoryPressure') {
    if (podQosClass(pod as Pod) !== 'BestEffort') return undefined;
    if (isTolerated({key: naming.subKey('node', 'memory-pressure'), effect: 'NoSchedule'}, pod.spec?.tolerations)) return undefined;
  }
  return {reason: 'Evicted', message: `The node had condition: [${conditions.join(' ')}]. `};
};
