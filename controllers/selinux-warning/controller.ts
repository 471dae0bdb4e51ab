import type {Change} from '#informers/change.js';
import {keyOf, keyText, type ObjectKey} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {isTerminal} from '#src/model/pod/state.js';
import type {Claim, Volume} from '#src/model/volumes.js';
import {defineController, mapped, sameKey} from '#src/runtime/controller.js';
import type {MapContext} from '#src/runtime/watches.js';
import {podsByClaim} from '#controllers/shared/volumes/pods-by-claim.js';
import {seLinuxWarnings} from './reconcile.js';

const usersOf = (claim: ObjectKey, {lister}: MapContext): readonly ObjectKey[] =>
  lister<Pod>(kinds.pods).by(podsByClaim, keyText(claim)).map(keyOf);

const whenBound = (change: Change<Claim>, context: MapContext): readonly ObjectKey[] => {
  const {type, object} = change;
  const before = type === 'updated' ? change.old.spec?.volumeName : undefined;
  return type !== 'deleted' && object.spec?.volumeName && object.spec.volumeName !== before ? usersOf(keyOf(object), context) : [];
};

const whenClaimed = (change: Change<Volume>, context: MapContext): readonly ObjectKey[] => {
  const {type, object} = change;
  const {namespace = '', name = '', uid} = object.spec?.claimRef ?? {};
  const before = type === 'updated' ? change.old.spec?.claimRef?.uid : undefined;
  return type !== 'deleted' && uid && uid !== before ? usersOf({namespace, name}, context) : [];
};

/**
 * Warns of pods that share a volume and want different SELinux labels of it: on one node only one of them could use it.
 */
export default defineController({
  doc: 'Reports pods that use a volume with different SELinux labels or change policies.',
  name: 'selinux-warning-controller',
  serviceAccount: 'selinux-warning-controller',
  eventSource: 'selinux_warning',
  queue: {name: 'selinux_warning'},
  reads: [kinds.pods, kinds.persistentVolumeClaims, kinds.persistentVolumes, kinds.csiDrivers],
  watches: [
    sameKey(kinds.pods, change => change.type !== 'updated' || (isTerminal(change.object) && !isTerminal(change.old))),
    mapped(kinds.persistentVolumeClaims, whenBound),
    mapped(kinds.persistentVolumes, whenClaimed),
  ],
  create: seLinuxWarnings,
});
