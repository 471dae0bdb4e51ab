import type {AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {refuse} from '#src/apiserver/admission/refuse.js';
import {isForSigningRequests, mayForSigner, storedSigner, type SignerGuard} from './signer-permission.js';

/** Requires the verb `approve` on the signer for an approval or denial. */
export const certificateApproval = (guard: SignerGuard): AdmissionPlugin => ({
  name: 'CertificateApproval',
  async validate(attributes) {
    if (attributes.operation !== 'UPDATE' || !isForSigningRequests(attributes, guard.naming, 'approval')) return;
    const signer = storedSigner(attributes);
    if (await mayForSigner(guard, attributes.user, 'approve', signer)) return;
    throw refuse(attributes, `user not permitted to approve requests with signerName ${JSON.stringify(signer)}`);
  },
});
