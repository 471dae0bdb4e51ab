import {isUndecided} from '#controllers/shared/certificates/certificate-decision.js';
import {signingRequestIn, whileDue, withCondition} from '#controllers/shared/certificates/certificate-requests.js';
import {kinds} from '#src/api/kinds/index.js';
import {Expected, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';
import {addressProblem, nodeNameIn, requestProblem, servingPolicy, type ServingApprovalOptions} from './policy.js';

/**
 * Approves requests that the policy allows. One for other addresses than the node has is tried again, as a node reports
 * its addresses after it joins.
 */
export const servingApprover = (context: KeyedContext<ServingApprovalOptions>): Reconcile => {
  const {writer, lister, clock, naming, options, log} = context;
  const requests = writer(kinds.certificateSigningRequests);
  const nodes = lister(kinds.nodes);
  const policy = servingPolicy(options);

  return whileDue(context, naming.signers.agentServing, isUndecided, async csr => {
    const name = csr.metadata?.name ?? '';
    const request = await signingRequestIn(csr, clock);
    const problem = requestProblem(csr, request, policy);
    if (problem !== undefined) return void log.info({csr: name, problem}, 'left a request for a serving certificate to others');
    const mismatch = addressProblem(request, nodes.get({namespace: '', name: nodeNameIn(request)}), policy);
    if (mismatch !== undefined) throw new Expected(`the csr ${JSON.stringify(name)} is not approved: ${mismatch}`);
    const message = 'The names and addresses are those of the node, and the policy allows them.';
    await requests.update(withCondition(csr, {type: 'Approved', status: 'True', reason: 'AutoApproved', message}), {
      subresource: 'approval',
    });
  });
};
