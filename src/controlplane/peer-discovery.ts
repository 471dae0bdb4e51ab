import type {Selection} from '#informers/selection.js';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Lease} from '#src/api/types.js';
import {identityLabel} from '#src/model/storage-version.js';
import {defineController, mapped, settled, singletonKey, type KeyedController} from '#src/runtime/controller.js';

/** The identity leases of all API servers. */
const serverLeases: Selection<Lease> = {
  kind: kinds.leases,
  namespace: naming => naming.systemNamespace,
  labelSelector: naming => `${identityLabel(naming)}=${naming.component('apiserver')}`,
};

const nameOf = ({metadata}: Frozen<Lease>): string => metadata?.name ?? '';

/**
 * Calls `refresh` with the identities of all other servers whenever one joins, restarts or leaves, and again after a
 * failure.
 */
export const peerDiscoveryLoop = (own: string, refresh: (servers: readonly string[]) => Promise<void>): KeyedController =>
  defineController({
    doc: 'Reads what other API servers serve.',
    name: 'peer-discovery-cache-sync',
    watches: [
      mapped(serverLeases, change => {
        const isRenewal = change.type === 'updated' && change.old.spec?.holderIdentity === change.object.spec?.holderIdentity;
        return isRenewal || nameOf(change.object) === own ? [] : [singletonKey];
      }),
    ],
    workers: 1,
    queue: {maxRetries: 20},
    create({lister}) {
      const leases = lister(serverLeases);
      return async () => {
        const peers = leases.list().filter(lease => nameOf(lease) !== own && lease.spec?.holderIdentity);
        await refresh(peers.map(nameOf));
        return settled;
      };
    },
  });
