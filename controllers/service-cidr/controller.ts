import {keyOf} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {isManagedAddress} from '#src/model/service-range.js';
import {defineController, mapped} from '#src/runtime/controller.js';
import {deletedRanges, deletedRangesAround} from './deleted-ranges.js';
import {addressOf, overlap} from './ranges.js';
import {serviceCidrReconciler} from './reconcile.js';

/**
 * Manages the ranges of service addresses. A deleted range is removed once every allocated address is in another one,
 * which may change with each range and address.
 */
export default defineController({
  doc: 'Sets the Ready condition of ServiceCIDRs, and protects deleted ones by a finalizer while services use their addresses.',
  name: 'service-cidr-controller',
  serviceAccount: 'service-cidrs-controller',
  queue: {name: 'ipaddresses', maxRetries: 15},
  workers: 5,
  primary: kinds.serviceCIDRs,
  watches: [
    mapped(kinds.serviceCIDRs, ({type, object}, {lister}) =>
      type === 'added'
        ? lister(kinds.serviceCIDRs)
            .by(deletedRanges, '')
            .filter(other => overlap(other, object))
            .map(keyOf)
        : [],
    ),
    mapped(kinds.ipAddresses, ({type, object}, {lister, naming}) => {
      const address = type !== 'updated' && isManagedAddress(naming, object) ? addressOf(object) : undefined;
      if (!address) return [];
      return deletedRangesAround(lister(kinds.serviceCIDRs), address).map(keyOf);
    }),
  ],
  create: serviceCidrReconciler,
});
