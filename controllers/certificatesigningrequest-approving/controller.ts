import {isUndecided} from '#controllers/shared/certificates/certificate-decision.js';
import {dueRequests, requestController} from '#controllers/shared/certificates/certificate-requests.js';
import {defineController} from '#src/runtime/controller.js';
import {approvingReconciler} from './reconcile.js';

/**
 * Approves client certificate requests of nodes when a SubjectAccessReview allows the requester to have them
 * auto-approved. Never denies; all other requests are left to people and other approvers.
 */
export default defineController({
  ...requestController,
  doc: 'Approves certificate signing requests of nodes for client certificates if the requester is authorized.',
  name: 'certificatesigningrequest-approving-controller',
  watches: [dueRequests(({signers}) => signers.apiserverClientAgent, isUndecided)],
  create: approvingReconciler,
});
