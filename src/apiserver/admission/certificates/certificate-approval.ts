import {kinds} from '#src/api/kinds/index.js';
import type {AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {targetsOf} from '#src/apiserver/admission/handles.js';
import {refuse} from '#src/apiserver/admission/refuse.js';
import {mayForSigner, storedSigner, type SignerGuard} from './signer-permission.js';

/** Requires the verb `approve` on the signer for an approval or denial. */
export const certificateApproval = (guard: SignerGuard): AdmissionPlugin => ({
  name: 'CertificateApproval',
  handles: {operations: ['UPDATE'], targets: targetsOf(guard.naming, kinds.certificateSigningRequests, 'approval')},
  async validate(attributes) {
    const signer = storedSigner(attributes);
    if (await mayForSigner(guard, attributes.user, 'approve', signer)) return;
    throw refuse(attributes, `user not permitted to approve requests with signerName ${JSON.stringify(signer)}`);
  },
});
