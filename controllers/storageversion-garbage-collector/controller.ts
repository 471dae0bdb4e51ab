import {keyOf} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {isServerLease} from '#src/model/storage-version.js';
import {defineController, forLoop, mapped} from '#src/runtime/controller.js';
import {collectors} from './reconcile.js';

/** Removes API servers whose identity leases are gone from StorageVersions. */
export default defineController({
  doc: 'Removes API servers without a lease from storage versions, and deletes storage versions that no server reports.',
  name: 'storageversion-garbage-collector-controller',
  serviceAccount: 'storage-version-garbage-collector',
  workers: 1,
  watches: [
    forLoop(
      'leases',
      mapped(kinds.leases, ({type, object}, {naming}) =>
        type === 'deleted' && object.metadata?.namespace === naming.systemNamespace && isServerLease(object, naming) ? [keyOf(object)] : [],
      ),
    ),
    forLoop(
      'storageversions',
      mapped(kinds.storageVersions, ({type, object}, {lister, naming}) => {
        const leases = lister(kinds.leases);
        const isKnown = (name = '') => isServerLease(leases.get({namespace: naming.systemNamespace, name}), naming);
        return type !== 'deleted' && object.status?.storageVersions?.some(({apiServerID}) => !isKnown(apiServerID)) ? [keyOf(object)] : [];
      }),
    ),
  ],
  create: collectors,
});
