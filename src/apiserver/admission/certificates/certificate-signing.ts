import {kinds} from '#src/api/kinds/index.js';
import type {CertificateSigningRequest} from '#src/api/types.js';
import {sameContent} from '#src/api/equal.js';
import type {AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {targetsOf} from '#src/apiserver/admission/handles.js';
import {refuse} from '#src/apiserver/admission/refuse.js';
import {mayForSigner, storedSigner, type SignerGuard} from './signer-permission.js';

/** Requires the verb `sign` on the signer for setting the certificate or changing conditions through the status. */
export const certificateSigning = (guard: SignerGuard): AdmissionPlugin => ({
  name: 'CertificateSigning',
  handles: {operations: ['UPDATE'], targets: targetsOf(guard.naming, kinds.certificateSigningRequests, 'status')},
  async validate(attributes) {
    const [now, before] = [attributes.object, attributes.oldObject].map(
      object => (object as CertificateSigningRequest | undefined)?.status,
    );
    if ((now?.certificate ?? '') === (before?.certificate ?? '') && sameContent(now?.conditions, before?.conditions)) return;
    const signer = storedSigner(attributes);
    if (await mayForSigner(guard, attributes.user, 'sign', signer)) return;
    throw refuse(attributes, `user not permitted to sign requests with signerName ${JSON.stringify(signer)}`);
  },
});
