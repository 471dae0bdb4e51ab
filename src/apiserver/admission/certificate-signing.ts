import type {CertificateSigningRequest} from '#src/api/types.js';
import {sameContent} from '#src/api/equal.js';
import type {AdmissionPlugin} from './admission.js';
import {refuse} from './refuse.js';
import {isAboutRequests, mayForSigner, storedSigner, type SignerGuard} from './signer-permission.js';

/** Who puts in a certificate, or changes conditions through the status, needs the verb `sign` on the signer. */
export const certificateSigning = (guard: SignerGuard): AdmissionPlugin => ({
  name: 'CertificateSigning',
  async validate(attributes) {
    if (attributes.operation !== 'UPDATE' || !isAboutRequests(attributes, guard.naming, 'status')) return;
    const [now, before] = [attributes.object, attributes.oldObject].map(object => (object as CertificateSigningRequest | undefined)?.status);
    if ((now?.certificate ?? '') === (before?.certificate ?? '') && sameContent(now?.conditions, before?.conditions)) return;
    const signer = storedSigner(attributes);
    if (await mayForSigner(guard, attributes.user, 'sign', signer)) return;
    throw refuse(attributes, `user not permitted to sign requests with signerName ${JSON.stringify(signer)}`);
  },
});
