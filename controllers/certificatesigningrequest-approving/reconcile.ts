import {isUndecided} from '#controllers/shared/certificates/certificate-decision.js';
import {signingRequestIn, whileDue, withCondition, type CachedRequest} from '#controllers/shared/certificates/certificate-requests.js';
import {kinds} from '#src/api/kinds/index.js';
import type {SubjectAccessReview} from '#src/api/types.js';
import {Expected, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';
import {recognizers} from './policy.js';

/**
 * Approves requests that a recognizer matches and whose requester is allowed. A recognized request that is not allowed
 * is retried, as permissions change.
 */
export const approvingReconciler = (context: KeyedContext): Reconcile => {
  const {writer, client, clock, naming} = context;
  const requests = writer(kinds.certificateSigningRequests);
  const reviews = client.resource(kinds.subjectAccessReviews);

  const mayCreate = async (csr: CachedRequest, subresource: string): Promise<boolean> => {
    const {username, uid, groups, extra} = csr.spec;
    const spec = {
      ...(username ? {user: username} : {}),
      ...(uid ? {uid} : {}),
      ...(groups ? {groups} : {}),
      ...(extra ? {extra} : {}),
      resourceAttributes: {
        verb: 'create',
        group: naming.group('certificates'),
        version: '*',
        resource: kinds.certificateSigningRequests.plural,
        subresource,
      },
    };
    const {status} = await reviews.create({spec} as SubjectAccessReview);
    return status?.allowed ?? false;
  };

  return whileDue(context, naming.signers.apiserverClientAgent, isUndecided, async csr => {
    const request = await signingRequestIn(csr, clock);
    const recognized = recognizers.filter(({recognizes}) => recognizes(csr, request, naming));

    for (const {permission, message} of recognized) {
      if (!(await mayCreate(csr, permission))) continue;
      // The server sets the times.
      const approved = withCondition(csr, {type: 'Approved', status: 'True', reason: 'AutoApproved', message: message(naming)});
      await requests.update(approved, {subresource: 'approval'});
      return;
    }
    if (recognized.length === 0) return;
    const tried = recognized.map(({permission}) => permission).join(' ');
    throw new Expected(
      `recognized csr ${JSON.stringify(csr.metadata?.name ?? '')} as [${tried}] but subject access review was not approved`,
    );
  });
};
