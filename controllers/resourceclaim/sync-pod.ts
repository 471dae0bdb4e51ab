import type {Lister} from '#informers/lister.js';
import type {Frozen, ObjectKey} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {claimNameOf, foreignText, type DeviceClaim} from '#src/model/devices/pod-claims.js';
import type {KeyedContext} from '#src/runtime/controller.js';
import type {GeneratedClaims} from './generated-claims.js';
import {PodClaims} from './pod-claims.js';
import {isDone, isUnreserved} from './pods.js';

/** Returns the claims that are to be reserved for a pod that was bound without the scheduler. */
const unreservedOf = (pod: Frozen<Pod>, claims: Lister<DeviceClaim>): Frozen<DeviceClaim>[] => {
  const found: Frozen<DeviceClaim>[] = [];
  for (const entry of pod.spec?.resourceClaims ?? []) {
    const name = claimNameOf(pod, entry);
    // A name that was just written arrives with the pod's next event.
    if (!name || name === 'not created') continue;
    const claim = claims.get({namespace: pod.metadata?.namespace ?? '', name: name.name});
    if (!claim) continue;
    const foreign = name.generated ? foreignText(pod, claim) : undefined;
    if (foreign) throw new Error(foreign);
    if (isUnreserved(claim, pod)) found.push(claim);
  }
  return found;
};

/**
 * Returns the function that generates the claims of a pod, and reserves claims for pods that were bound without the
 * scheduler.
 */
export const podSyncer = (
  context: Pick<KeyedContext, 'lister' | 'writer' | 'events' | 'naming'>,
  generated: GeneratedClaims,
): ((key: ObjectKey) => Promise<void>) => {
  const pods = context.lister(kinds.pods);
  const claims = context.lister(kinds.resourceClaims);
  const podClaims = new PodClaims(context, generated);

  return async key => {
    const pod = pods.get(key);
    // The claims of a finished pod have been deleted.
    if (!pod || pod.metadata?.deletionTimestamp || isDone(pod)) return;
    await podClaims.record(pod, await podClaims.generate(pod, key));
    // The scheduler allocates and reserves the claims of other pods.
    if (!pod.spec?.nodeName) return;
    for (const claim of unreservedOf(pod, claims)) await podClaims.reserve(pod, claim);
  };
};
