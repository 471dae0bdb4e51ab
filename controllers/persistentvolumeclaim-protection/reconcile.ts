import {indexing} from '#informers/lister.js';
import {aggregate} from '#controllers/shared/aggregate.js';
import {awaits, lacks, withFinalizer, withoutFinalizer} from '#controllers/shared/finalizers.js';
import {unlessMissing} from '#src/client/missing.js';
import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Claim} from '#src/model/volumes.js';
import {settled, type KeyedContext, type Loops} from '#src/runtime/controller.js';
import {podsByClaim} from '#controllers/shared/volumes/pods-by-claim.js';
import {groupedByClaim, uses, type PodsByClaim} from './uses.js';

/**
 * Two loops: one collects the claims of each namespace, the other checks them together, so that one live list of pods
 * serves all.
 */
export const protectionReconciler = ({client, enqueue, lister, writer, naming}: KeyedContext): Loops => {
  const claims = lister(kinds.persistentVolumeClaims);
  const pods = indexing(lister(kinds.pods), podsByClaim);
  const writes = writer(kinds.persistentVolumeClaims);
  const finalizer = naming.key('pvc-protection');
  const batches = new Map<string, Set<string>>();

  const addToBatch = (namespace: string, name: string) => {
    const batch = batches.get(namespace) ?? new Set();
    batches.set(namespace, batch.add(name));
  };
  const syncClaim = async (claim: Frozen<Claim> | undefined, livePods: () => Promise<PodsByClaim>): Promise<void> => {
    if (!claim) return;
    if (lacks(claim, finalizer)) await unlessMissing(writes.update(withFinalizer(claim, finalizer)));
    if (!awaits(claim, finalizer)) return;
    const key = keyText(keyOf(claim));
    if (pods.by(podsByClaim, key).some(pod => uses(pod, claim))) return;
    // The cache may lack a pod, and the removal of the finalizer is final.
    if ((await livePods()).get(key)?.some(pod => uses(pod, claim))) return;
    await unlessMissing(writes.update(withoutFinalizer(claim, finalizer)));
  };

  return {
    async claims({namespace, name}) {
      addToBatch(namespace, name);
      enqueue({namespace: '', name: namespace}, {loop: 'namespaces'});
      return settled;
    },
    async namespaces({name: namespace}) {
      const names = [...(batches.get(namespace) ?? [])];
      batches.delete(namespace);
      let listed: Promise<PodsByClaim> | undefined;
      const livePods = () =>
        (listed ??= client
          .resource(kinds.pods)
          .list({namespace})
          .then(({items}) => groupedByClaim(items)));
      const failures: unknown[] = [];
      for (const name of names) {
        try {
          await syncClaim(claims.get({namespace, name}), livePods);
        } catch (error) {
          addToBatch(namespace, name);
          failures.push(error);
        }
      }
      const failure = aggregate(failures);
      if (failure) throw failure;
      return settled;
    },
  };
};
