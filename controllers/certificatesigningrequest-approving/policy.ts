import type {CachedRequest} from '#controllers/shared/certificates/certificate-requests.js';
import {checkNodeClientRequest} from '#controllers/shared/certificates/node-certificates.js';
import type {Naming} from '#src/api/naming.js';
import type {SigningRequest} from '#src/pki/signing-request.js';

/** A kind of request that may be approved automatically. */
export interface Recognizer {
  /** The virtual subresource that the requester needs permission to `create`. */
  readonly permission: string;
  recognizes(csr: CachedRequest, request: SigningRequest, naming: Naming): boolean;
  /** Returns the condition's message. */
  message(naming: Naming): string;
}

const isNodeClient: Recognizer['recognizes'] = ({spec}, request, naming) =>
  spec.signerName === naming.signers.apiserverClientAgent && checkNodeClientRequest(request, spec.usages ?? []) === undefined;

/** In order of preference: a node that renews its own certificate, then any requester for a node. */
export const recognizers: readonly Recognizer[] = [
  {
    permission: 'selfnodeclient',
    recognizes: (csr, request, naming) => csr.spec.username === request.subject.commonName && isNodeClient(csr, request, naming),
    message: ({agent}) => `Auto approving self ${agent} client certificate after SubjectAccessReview.`,
  },
  {
    permission: 'nodeclient',
    recognizes: isNodeClient,
    message: ({agent}) => `Auto approving ${agent} client certificate after SubjectAccessReview.`,
  },
];
