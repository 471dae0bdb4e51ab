import {requestController} from '#controllers/shared/certificate-requests.js';
import {defineController} from '#src/runtime/controller.js';
import {approvingReconciler} from './reconcile.js';

/**
 * Approves requests of nodes for client certificates, if the requester may have one without a person's look: the API server is asked.
 * Never denies, and leaves everything else to people and other approvers.
 */
export default defineController({
  ...requestController,
  doc: 'Approves requests of nodes for client certificates where the requester is allowed to have one.',
  name: 'certificatesigningrequest-approving-controller',
  create: approvingReconciler,
});
