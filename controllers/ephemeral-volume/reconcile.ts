import {podsByClaim} from '#controllers/shared/volumes/pods-by-claim.js';
import {indexing} from '#informers/lister.js';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod, Volume as PodVolume} from '#src/api/pod.js';
import {messageOf} from '#src/base/message.js';
import {controllerRefTo, isControlledBy} from '#src/model/owners.js';
import {claimOfVolume, type Claim} from '#src/model/volumes.js';
import {settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';

export interface EphemeralVolumeOptions {
  readonly concurrentEphemeralvolumeSyncs: number;
}

/** Creates the missing claims of one pod. */
export const ephemeralVolumes = (context: KeyedContext<EphemeralVolumeOptions>): Reconcile => {
  const {events, lister, meter, naming, writer} = context;
  const pods = indexing(lister(kinds.pods), podsByClaim);
  const claims = lister(kinds.persistentVolumeClaims);
  const writes = writer(kinds.persistentVolumeClaims);
  const created = meter.counter({
    name: 'ephemeral_volume_controller_create_total',
    help: 'Number of PersistentVolumeClaim creation requests',
  });
  const failed = meter.counter({
    name: 'ephemeral_volume_controller_create_failures_total',
    help: 'Number of PersistentVolumeClaim creation requests',
  });

  const ensureClaim = async (pod: Frozen<Pod>, volume: Frozen<PodVolume>): Promise<void> => {
    const {namespace = '', name: podName} = pod.metadata ?? {};
    const name = claimOfVolume(pod, volume)!;
    const found = claims.get({namespace, name});
    if (found) {
      if (isControlledBy(found, pod)) return;
      throw new Error(`PVC ${namespace}/${name} was not created for pod ${namespace}/${podName} (pod is not owner)`);
    }
    const {metadata, spec} = structuredClone(volume.ephemeral!.volumeClaimTemplate) as {
      metadata?: Claim['metadata'];
      spec: NonNullable<Claim['spec']>;
    };
    created.add();
    try {
      await writes.create({
        metadata: {
          name,
          namespace,
          ownerReferences: [controllerRefTo(pod, kinds.pods, naming)],
          ...(metadata?.labels ? {labels: metadata.labels} : {}),
          ...(metadata?.annotations ? {annotations: metadata.annotations} : {}),
        },
        spec,
      });
    } catch (error) {
      failed.add();
      throw new Error(`create PVC ${name}: ${messageOf(error)}`, {cause: error});
    }
  };

  return async key => {
    const pod = pods.get(key);
    // The claims of a pod that is going would go with it.
    if (!pod || pod.metadata?.deletionTimestamp) return settled;
    for (const volume of pod.spec?.volumes ?? []) {
      if (!volume.ephemeral) continue;
      try {
        await ensureClaim(pod, volume);
      } catch (error) {
        events.warning(pod, 'FailedBinding', `ephemeral volume ${volume.name}: ${messageOf(error)}`);
        throw error;
      }
    }
    return settled;
  };
};
