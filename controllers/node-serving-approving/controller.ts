import {isUndecided} from '#controllers/shared/certificates/certificate-decision.js';
import {dueRequests, requestController} from '#controllers/shared/certificates/certificate-requests.js';
import {kinds} from '#src/api/kinds/index.js';
import {defineController} from '#src/runtime/controller.js';
import {servingApprover} from './reconcile.js';
import type {ServingApprovalOptions} from './policy.js';

/**
 * Approves requests of nodes for certificates with which they serve, if names and addresses are those of the Node and
 * the policy of the flags allows them. It trusts what nodes report as their addresses, as far as the policy does:
 * therefore it only runs where it is asked for. Never denies.
 */
export default defineController<ServingApprovalOptions>({
  ...requestController,
  serviceAccount: 'node-serving-approving-controller',
  doc: 'Approves certificate signing requests of nodes for serving certificates with their own names and addresses.',
  name: 'node-serving-approving-controller',
  queue: {...requestController.queue, name: 'node_serving_approving'},
  flags: [
    'node-serving-approval-node-names',
    'node-serving-approval-dns-suffixes',
    'node-serving-approval-cidrs',
    'node-serving-approval-max-duration',
  ],
  reads: [kinds.nodes],
  watches: [dueRequests(({signers}) => signers.agentServing, isUndecided)],
  create: servingApprover,
});
