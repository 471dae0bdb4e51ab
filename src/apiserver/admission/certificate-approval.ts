import type {AdmissionPlugin} from './admission.js';
import {refuse} from './refuse.js';
import {isAboutRequests, mayForSigner, storedSigner, type SignerGuard} from './signer-permission.js';

/** Who approves or denies a request needs the verb `approve` on its signer. */
export const certificateApproval = (guard: SignerGuard): AdmissionPlugin => ({
  name: 'CertificateApproval',
  async validate(attributes) {
    if (attributes.operation !== 'UPDATE' || !isAboutRequests(attributes, guard.naming, 'approval')) return;
    const signer = storedSigner(attributes);
    if (await mayForSigner(guard, attributes.user, 'approve', signer)) return;
    throw refuse(attributes, `user not permitted to approve requests with signerName ${JSON.stringify(signer)}`);
  },
});
