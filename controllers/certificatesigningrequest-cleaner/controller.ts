import {requestController} from '#controllers/shared/certificates/certificate-requests.js';
import {defineController, every, singletonKey} from '#src/runtime/controller.js';
import {cleaner} from './reconcile.js';

/**
 * Deletes certificate signing requests that are no longer needed: one pass over all of them at the start, and one each
 * hour.
 */
export default defineController({
  doc: 'Deletes certificate signing requests a certain time after they were approved, denied, failed or issued, or were created and stayed pending.',
  name: 'certificatesigningrequest-cleaner-controller',
  serviceAccount: requestController.serviceAccount,
  watches: [every('1h')],
  create(context) {
    context.enqueue(singletonKey);
    return cleaner(context);
  },
});
