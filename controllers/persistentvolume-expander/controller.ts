import type {Change} from '#informers/change.js';
import {kinds} from '#src/api/kinds/index.js';
import {compareQuantities, parseQuantity, zeroQuantity} from '#src/api/quantity.js';
import {claimedStorage, type Claim} from '#src/model/volumes.js';
import {defineController, sameKey} from '#src/runtime/controller.js';
import {expander} from './reconcile.js';
import {statusStorage} from './claim-status.js';

/** Whether a change of a bound claim may concern the size of its volume. */
const concernsSize = (change: Change<Claim>): boolean => {
  const {object} = change;
  if (object.status?.phase !== 'Bound') return false;
  if (change.type !== 'updated') return true;
  const grew = (before: string | undefined, now: string | undefined) =>
    compareQuantities(now ? parseQuantity(now) : zeroQuantity, before ? parseQuantity(before) : zeroQuantity) > 0;
  return (
    compareQuantities(claimedStorage(object), claimedStorage(change.old)) > 0 || grew(statusStorage(change.old), statusStorage(object))
  );
};

/**
 * Expands the volumes of claims that request more storage, as far as a plugin of this process can; others are left to
 * their drivers.
 */
export default defineController({
  doc: 'Expands volumes of claims that request more storage, unless an external controller does.',
  name: 'persistentvolume-expander-controller',
  serviceAccount: 'expand-controller',
  eventSource: 'volume_expand',
  queue: {name: 'volume_expand'},
  workers: 10,
  reads: [kinds.persistentVolumeClaims],
  watches: [sameKey(kinds.persistentVolumeClaims, concernsSize)],
  create: expander,
});
