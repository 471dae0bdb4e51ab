import {awaits, lacks, withFinalizer, withoutFinalizer} from '#controllers/shared/finalizers.js';
import {unlessMissing} from '#src/client/missing.js';
import {kinds} from '#src/api/kinds/index.js';
import {settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';

/** Adds the protection finalizer, or removes it once the volume is unused. */
export const protectionReconciler = ({lister, writer, naming}: KeyedContext): Reconcile => {
  const volumes = lister(kinds.persistentVolumes);
  const writes = writer(kinds.persistentVolumes);
  const finalizer = naming.key('pv-protection');
  return async key => {
    const volume = volumes.get(key);
    if (!volume) return settled;
    if (awaits(volume, finalizer) && volume.status?.phase !== 'Bound')
      await unlessMissing(writes.update(withoutFinalizer(volume, finalizer)));
    else if (lacks(volume, finalizer)) await unlessMissing(writes.update(withFinalizer(volume, finalizer)));
    return settled;
  };
};
