import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {CertificateSigningRequest} from '#src/api/types.js';
import {wellKnown} from '#src/api/user.js';
import {parseSigningRequest, type SigningRequest} from '#src/pki/signing-request.js';
import {messageOf} from '#src/base/message.js';
import type {AdmissionAttributes, AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {targetsOf} from '#src/apiserver/admission/handles.js';
import {refuse} from '#src/apiserver/admission/refuse.js';

const parsed = (attributes: AdmissionAttributes, request: string | undefined): SigningRequest => {
  try {
    return parseSigningRequest(Buffer.from(request ?? '', 'base64'));
  } catch (error) {
    throw refuse(attributes, `failed to parse CSR: ${messageOf(error)}`);
  }
};

/**
 * Refuses requests for certificates with the group of administrators, which bypasses authorization, from signers that
 * the API server may trust: those of its clients, and the legacy signer, which has the same CA unless it has its own.
 * The signers for nodes issue only for the organization of nodes. Differs from upstream, where all requests to the
 * legacy signer are refused.
 */
export const certificateSubjectRestriction = (naming: Naming): AdmissionPlugin => ({
  name: 'CertificateSubjectRestriction',
  handles: {operations: ['CREATE'], targets: targetsOf(naming, kinds.certificateSigningRequests)},
  validate(attributes) {
    const {spec} = attributes.object as CertificateSigningRequest;
    const {apiserverClient, legacyUnknown} = naming.signers;
    if (spec.signerName !== apiserverClient && spec.signerName !== legacyUnknown) return;
    if (!parsed(attributes, spec.request).subject.organizations.includes(wellKnown.masters)) return;
    throw refuse(attributes, `use of ${spec.signerName} signer with ${wellKnown.masters} group is not allowed`);
  },
});
