import {awaits, lacks} from '#controllers/shared/finalizers.js';
import {kinds} from '#src/api/kinds/index.js';
import {defineController, mapped, sameKey} from '#src/runtime/controller.js';
import {protectionReconciler} from './reconcile.js';
import {releasedClasses, classOfVolume, classesOfClaim} from './uses.js';

/** Protects volume attributes classes from deletion while a volume or claim refers to them. */
export default defineController({
  doc: 'Protects deleted VolumeAttributesClasses by a finalizer until no volume and no claim refers to them.',
  name: 'volumeattributesclass-protection-controller',
  serviceAccount: 'volumeattributesclass-protection-controller',
  queue: {name: 'vacprotection'},
  reads: [kinds.volumeAttributesClasses, kinds.persistentVolumes, kinds.persistentVolumeClaims],
  watches: [
    sameKey(kinds.volumeAttributesClasses, ({type, object}, {naming}) => {
      const finalizer = naming.key('vac-protection');
      return type !== 'deleted' && (awaits(object, finalizer) || lacks(object, finalizer));
    }),
    mapped(kinds.persistentVolumes, releasedClasses(classOfVolume)),
    mapped(kinds.persistentVolumeClaims, releasedClasses(classesOfClaim)),
  ],
  create: protectionReconciler,
});
