import {kinds} from '#src/api/kinds/index.js';
import {defineController, every, singletonKey} from '#src/runtime/controller.js';
import {cleaner} from './reconcile.js';

/**
 * Deletes old pod certificate requests, whatever their state: one pass over all of them at the start, and one every
 * five minutes.
 */
export default defineController({
  doc: 'Deletes pod certificate requests 15 minutes after their creation.',
  name: 'podcertificaterequest-cleaner-controller',
  serviceAccount: 'podcertificaterequestcleaner',
  reads: [kinds.podCertificateRequests],
  watches: [every('5m')],
  create(context) {
    context.enqueue(singletonKey);
    return cleaner(context);
  },
});
