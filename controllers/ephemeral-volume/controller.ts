import {keyOf, keyText} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {defineController, mapped, sameKey} from '#src/runtime/controller.js';
import {podsByClaim} from '#controllers/shared/volumes/pods-by-claim.js';
import {ephemeralVolumes, type EphemeralVolumeOptions} from './reconcile.js';

/** Creates the claims of pods' ephemeral volumes. The claims belong to their pods, and go with them. */
export default defineController<EphemeralVolumeOptions>({
  doc: "Creates the persistent volume claims of pods' generic ephemeral volumes.",
  name: 'ephemeral-volume-controller',
  serviceAccount: 'ephemeral-volume-controller',
  eventSource: 'ephemeral_volume',
  configuration: {EphemeralVolumeController: {ConcurrentEphemeralVolumeSyncs: 'concurrent-ephemeralvolume-syncs'}},
  workers: ({concurrentEphemeralvolumeSyncs}) => concurrentEphemeralvolumeSyncs,
  queue: {name: 'ephemeral_volume'},
  reads: [kinds.pods, kinds.persistentVolumeClaims],
  watches: [
    sameKey(kinds.pods, ({type, object}) => {
      const isNew = type === 'added' && !object.metadata?.deletionTimestamp;
      return isNew && (object.spec?.volumes?.some(({ephemeral}) => ephemeral) ?? false);
    }),
    mapped(kinds.persistentVolumeClaims, ({type, object}, {lister}) =>
      type === 'deleted'
        ? lister(kinds.pods)
            .by(podsByClaim, keyText(keyOf(object)))
            .map(keyOf)
        : [],
    ),
  ],
  create: ephemeralVolumes,
});
