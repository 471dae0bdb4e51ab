import {keyText, type Frozen, type ObjectKey} from '#src/api/key.js';
import {apiVersionOf, kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {messageOf} from '#src/base/message.js';
import {unlessMissing} from '#src/client/missing.js';
import {claimNameOf, foreignText, type DeviceClaim} from '#src/model/devices/pod-claims.js';
import type {KeyedContext} from '#src/runtime/controller.js';
import type {GeneratedClaims} from './generated-claims.js';
import {isDone, isUnreserved} from './pods.js';

/** The field manager of pods' status. */
const fieldManager = 'ResourceClaimController';

/**
 * Returns the function that generates the claims of a pod, and reserves claims for pods that were bound without the
 * scheduler.
 */
export const podSyncer = (
  {lister, writer, events, naming}: Pick<KeyedContext, 'lister' | 'writer' | 'events' | 'naming'>,
  generated: GeneratedClaims,
): ((key: ObjectKey) => Promise<void>) => {
  const pods = lister(kinds.pods);
  const claims = lister(kinds.resourceClaims);
  const [podWrites, claimWrites] = [writer(kinds.pods), writer(kinds.resourceClaims)];

  /** Returns the names of generated claims by entry. */
  const generate = async (pod: Frozen<Pod>, key: ObjectKey): Promise<Map<string, string>> => {
    const names = new Map<string, string>();
    for (const entry of pod.spec?.resourceClaims ?? []) {
      try {
        const name = await generated.nameOf(pod, entry);
        if (name !== undefined) names.set(entry.name, name);
      } catch (error) {
        const message = `PodResourceClaim ${entry.name}: ${messageOf(error)}`;
        events.warning({...pod, apiVersion: 'v1', kind: 'Pod'}, 'FailedResourceClaimCreation', message);
        throw new Error(`pod ${keyText(key)}, ${message}`, {cause: error});
      }
    }
    return names;
  };

  /** Writes the names of generated claims, unless the status has them. An entry that is left out would be removed. */
  const record = async (pod: Frozen<Pod>, names: ReadonlyMap<string, string>): Promise<void> => {
    const statuses = pod.status?.resourceClaimStatuses ?? [];
    if ([...names].every(([name, claim]) => statuses.some(each => each.name === name && each.resourceClaimName === claim))) return;
    const {namespace, name, uid} = pod.metadata ?? {};
    const intent = {
      apiVersion: apiVersionOf(naming, kinds.pods),
      kind: kinds.pods.kind,
      metadata: {namespace, name, uid},
      status: {resourceClaimStatuses: [...names].map(([entry, resourceClaimName]) => ({name: entry, resourceClaimName}))},
    };
    await unlessMissing(podWrites.patch(pod, 'apply', intent, {subresource: 'status', fieldManager, force: true}));
  };

  const reserve = async (pod: Frozen<Pod>, claim: Frozen<DeviceClaim>): Promise<void> => {
    const consumer = {resource: 'pods', name: pod.metadata!.name!, uid: pod.metadata!.uid!};
    const reservedFor = [...(claim.status?.reservedFor ?? []), consumer];
    try {
      await claimWrites.updateStatus({...claim, status: {...claim.status, reservedFor}} as DeviceClaim);
    } catch (error) {
      throw new Error(`reserve claim for pod: ${messageOf(error)}`, {cause: error});
    }
  };

  return async key => {
    const pod = pods.get(key);
    // The claims of a finished pod have been deleted.
    if (!pod || pod.metadata?.deletionTimestamp || isDone(pod)) return;
    await record(pod, await generate(pod, key));
    // The scheduler allocates and reserves the claims of other pods.
    if (!pod.spec?.nodeName) return;
    for (const entry of pod.spec.resourceClaims ?? []) {
      const found = claimNameOf(pod, entry);
      // A name that was just written arrives with the pod's next event.
      if (!found || found === 'not created') continue;
      const claim = claims.get({namespace: key.namespace, name: found.name});
      if (!claim) continue;
      const foreign = found.generated ? foreignText(pod, claim) : undefined;
      if (foreign) throw new Error(foreign);
      if (isUnreserved(claim, pod)) await reserve(pod, claim);
    }
  };
};
