import {nodeClientObjection, nodeServingObjection} from '#controllers/shared/node-certificates.js';
import {wellKnown} from '#src/api/user.js';
import type {SigningRequest} from '#src/pki/signing-request.js';
import type {SignerToken} from './key-files.js';

/** What keeps a signer from signing a request, in the words of the condition; undefined when nothing does. */
export type Objection = (request: SigningRequest, usages: readonly string[]) => string | undefined;

const clientAuth = 'client auth';
const clientUsages: ReadonlySet<string> = new Set(['digital signature', 'key encipherment', clientAuth]);

const clientUsageObjection: Objection = (_, usages) => {
  const invalid = usages.find(usage => !clientUsages.has(usage));
  if (invalid !== undefined) return `invalid usage for client certificate: ${invalid}`;
  return usages.includes(clientAuth) ? undefined : `missing required usage for client certificate: ${clientAuth}`;
};

/**
 * Nobody becomes an administrator past all authorization by a certificate: those of nodes are all of one other organization, and the rest may not be of
 * this one. Differs from upstream, where only the admission of the server looks at that, and at one of the signers.
 */
const subjectObjection: Objection = ({subject}) => (subject.organizations.includes(wellKnown.masters) ? `subject organization ${wellKnown.masters} is not allowed` : undefined);

/** What each signer insists on. */
export const objections: Readonly<Record<SignerToken, Objection>> = {
  agentServing: nodeServingObjection,
  apiserverClientAgent: nodeClientObjection,
  apiserverClient: (request, usages) => clientUsageObjection(request, usages) ?? subjectObjection(request, usages),
  legacyUnknown: subjectObjection,
};
