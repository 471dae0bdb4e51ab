import {checkNodeClientRequest, checkNodeServingRequest} from '#controllers/shared/certificates/node-certificates.js';
import {wellKnown} from '#src/api/user.js';
import type {SigningRequest} from '#src/pki/signing-request.js';
import type {SignerToken} from './key-files.js';

/**
 * Checks a request for a signer. Returns the failure message of the condition, or undefined if the request may be
 * signed.
 */
export type SigningCheck = (request: SigningRequest, usages: readonly string[]) => string | undefined;

const clientAuth = 'client auth';
const clientUsages: ReadonlySet<string> = new Set(['digital signature', 'key encipherment', clientAuth]);

const checkClientUsages: SigningCheck = (_, usages) => {
  const invalid = usages.find(usage => !clientUsages.has(usage));
  if (invalid !== undefined) return `invalid usage for client certificate: ${invalid}`;
  return usages.includes(clientAuth) ? undefined : `missing required usage for client certificate: ${clientAuth}`;
};

/**
 * No certificate may bypass authorization by its organization: node certificates have a fixed organization, and others
 * may not have this one. Differs from upstream, where only server admission checks that, and for one of the signers.
 */
const checkSubject: SigningCheck = ({subject}) =>
  subject.organizations.includes(wellKnown.masters) ? `subject organization ${wellKnown.masters} is not allowed` : undefined;

/** The check of each signer. */
export const signingChecks: Readonly<Record<SignerToken, SigningCheck>> = {
  agentServing: checkNodeServingRequest,
  apiserverClientAgent: checkNodeClientRequest,
  apiserverClient: (request, usages) => checkClientUsages(request, usages) ?? checkSubject(request, usages),
  legacyUnknown: checkSubject,
};
