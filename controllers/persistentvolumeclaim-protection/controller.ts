import {awaits, lacks} from '#controllers/shared/finalizers.js';
import {kinds} from '#src/api/kinds/index.js';
import {defineController, forLoop, mapped, sameKey} from '#src/runtime/controller.js';
import {protectionReconciler} from './reconcile.js';
import {releasedClaims} from './uses.js';

/** Protects claims from deletion while a pod on a node uses them. */
export default defineController({
  doc: 'Protects deleted persistent volume claims by a finalizer until no pod uses them.',
  name: 'persistentvolumeclaim-protection-controller',
  serviceAccount: 'pvc-protection-controller',
  queue: {name: 'pvcprotection'},
  reads: [kinds.persistentVolumeClaims, kinds.pods],
  watches: [
    forLoop(
      'claims',
      sameKey(kinds.persistentVolumeClaims, ({type, object}, {naming}) => {
        const finalizer = naming.key('pvc-protection');
        return type !== 'deleted' && (awaits(object, finalizer) || lacks(object, finalizer));
      }),
    ),
    forLoop('claims', mapped(kinds.pods, releasedClaims)),
  ],
  create: protectionReconciler,
});
