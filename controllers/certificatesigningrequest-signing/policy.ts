import {checkNodeClientRequest, checkNodeServingRequest} from '#controllers/shared/node-certificates.js';
import {wellKnown} from '#src/api/user.js';
import type {SigningRequest} from '#src/pki/signing-request.js';
import type {SignerToken} from './key-files.js';

/** What keeps a signer from signing a request, in the words of the condition; undefined when nothing does. */
export type SigningCheck = (request: SigningRequest, usages: readonly string[]) => string | undefined;

const clientAuth = 'client auth';
const clientUsages: ReadonlySet<string> = new Set(['digital signature', 'key encipherment', clientAuth]);

const checkClientUsages: SigningCheck = (_, usages) => {
  const invalid = usages.find(usage => !clientUsages.has(usage));
  if (invalid !== undefined) return `invalid usage for client certificate: ${invalid}`;
  return usages.includes(clientAuth) ? undefined : `missing required usage for client certificate: ${clientAuth}`;
};

/**
 * Nobody becomes an administrator past all authorization by a certificate: those of nodes are all of one other organization, and the rest may not be of
 * this one. Differs from upstream, where only the admission of the server looks at that, and at one of the signers.
 */
const checkSubject: SigningCheck = ({subject}) => (subject.organizations.includes(wellKnown.masters) ? `subject organization ${wellKnown.masters} is not allowed` : undefined);

/** What each signer insists on. */
export const signingChecks: Readonly<Record<SignerToken, SigningCheck>> = {
  agentServing: checkNodeServingRequest,
  apiserverClientAgent: checkNodeClientRequest,
  apiserverClient: (request, usages) => checkClientUsages(request, usages) ?? checkSubject(request, usages),
  legacyUnknown: checkSubject,
};
