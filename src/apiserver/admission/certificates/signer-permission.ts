import type {Naming} from '#src/api/naming.js';
import type {CertificateSigningRequest} from '#src/api/types.js';
import type {AdmissionAttributes} from '#src/apiserver/admission/admission.js';

export {mayForSigner, type SignerGuard} from '#src/resources/certificates/signer-permission.js';

/** Whether a request is for the subresource of a certificate signing request. */
export const isForSigningRequests = ({group, resource, subresource}: AdmissionAttributes, naming: Naming, expected: string): boolean =>
  resource === 'certificatesigningrequests' && subresource === expected && group === naming.group('certificates');

/** The signer of the stored request. */
export const storedSigner = ({oldObject}: AdmissionAttributes): string =>
  (oldObject as CertificateSigningRequest | undefined)?.spec.signerName ?? '';
