import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';

/** Pods of this priority or higher are critical. */
const criticalPriority = 2_000_000_000;

/** Whether a pod is a static pod, from a file or a URL. */
export const isStaticPod = (naming: Naming, {metadata}: Frozen<Pod>): boolean => {
  const source = metadata?.annotations?.[naming.key('config.source')];
  return source !== undefined && source !== 'api';
};

/** Whether a pod is the mirror pod of a static pod. */
export const isMirrorPod = (naming: Naming, {metadata}: Frozen<Pod>): boolean =>
  metadata?.annotations?.[naming.key('config.mirror')] !== undefined;

/** Whether a pod may preempt others. */
export const isCritical = (naming: Naming, pod: Frozen<Pod>): boolean =>
  isStaticPod(naming, pod) || isMirrorPod(naming, pod) || (pod.spec?.priority ?? 0) >= criticalPriority;
