import {indexing} from '#informers/lister.js';
import {awaits, lacks, withFinalizer, withoutFinalizer} from '#controllers/shared/finalizers.js';
import {unlessMissing} from '#src/client/missing.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';
import {claimsByClass, volumesByClass} from './uses.js';

type Class = ObjectOf<typeof kinds.volumeAttributesClasses>;

/** Adds the protection finalizer, or removes it once the class is unused. */
export const protectionReconciler = ({lister, writer, naming}: KeyedContext): Reconcile => {
  const classes = lister(kinds.volumeAttributesClasses);
  const volumes = indexing(lister(kinds.persistentVolumes), volumesByClass);
  const claims = indexing(lister(kinds.persistentVolumeClaims), claimsByClass);
  const writes = writer(kinds.volumeAttributesClasses);
  const finalizer = naming.key('vac-protection');
  const isUsed = (name: string): boolean => volumes.by(volumesByClass, name).length > 0 || claims.by(claimsByClass, name).length > 0;
  return async key => {
    const found = classes.get(key);
    if (!found) return settled;
    if (awaits(found, finalizer) && !isUsed(key.name)) await unlessMissing(writes.update(withoutFinalizer<Class>(found, finalizer)));
    else if (lacks(found, finalizer)) await unlessMissing(writes.update(withFinalizer<Class>(found, finalizer)));
    return settled;
  };
};
