import {awaits, lacks} from '#controllers/shared/finalizers.js';
import {kinds} from '#src/api/kinds/index.js';
import {defineController, sameKey} from '#src/runtime/controller.js';
import {protectionReconciler} from './reconcile.js';

/** Protects volumes from deletion while a claim is bound to them. */
export default defineController({
  doc: 'Protects deleted persistent volumes by a finalizer until no claim is bound to them.',
  name: 'persistentvolume-protection-controller',
  serviceAccount: 'pv-protection-controller',
  queue: {name: 'pvprotection'},
  reads: [kinds.persistentVolumes],
  watches: [
    sameKey(kinds.persistentVolumes, ({type, object}, {naming}) => {
      const finalizer = naming.key('pv-protection');
      return type !== 'deleted' && (awaits(object, finalizer) || lacks(object, finalizer));
    }),
  ],
  create: protectionReconciler,
});
