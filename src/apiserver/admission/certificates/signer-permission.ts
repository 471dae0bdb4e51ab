import type {CertificateSigningRequest} from '#src/api/types.js';
import type {AdmissionAttributes} from '#src/apiserver/admission/admission.js';

export {mayForSigner, type SignerGuard} from '#src/resources/certificates/signer-permission.js';

/** The signer of the stored request. */
export const storedSigner = ({oldObject}: AdmissionAttributes): string =>
  (oldObject as CertificateSigningRequest | undefined)?.spec.signerName ?? '';
