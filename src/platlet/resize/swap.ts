import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import {podQosClass} from '#src/model/pod/qos.js';
import {bytesOf} from '#src/platlet/cgroups/numbers.js';
import {isCritical} from '#src/platlet/pod/origin.js';

/** Whether a container may use swap on a node that gives pods a limited amount of it (`LimitedSwap`). */
export const mayUseLimitedSwap = (naming: Naming, pod: Frozen<Pod>, {resources}: Frozen<AnyContainer>): boolean => {
  if (isCritical(naming, pod) || podQosClass(pod as Pod) !== 'Burstable') return false;
  const [request, limit] = [bytesOf(resources?.requests?.['memory']), bytesOf(resources?.limits?.['memory'])];
  // Without either the amounts are the same, too.
  return request !== limit;
};
