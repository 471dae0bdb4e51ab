import {wellKnown} from '#src/api/user.js';
import type {SigningRequest} from '#src/pki/signing-request.js';

const digitalSignature = 'digital signature';
const keyEncipherment = 'key encipherment';

/** Whether `usages` are exactly those of `wanted`, in any order, however often; key encipherment may be missing: only RSA keys have a use for it. */
const match = (usages: readonly string[], wanted: readonly string[]): boolean => {
  const asked = new Set(usages);
  return [...asked].every(usage => wanted.includes(usage)) && wanted.every(usage => usage === keyEncipherment || asked.has(usage));
};

const mismatch = (usages: readonly string[], wanted: readonly string[]): string | undefined =>
  match(usages, wanted) ? undefined : `usages did not match [${wanted.join(' ')}]`;

const notOfNodes = ({subject: {organizations}}: SigningRequest): string | undefined =>
  organizations.length === 1 && organizations[0] === wellKnown.nodes ? undefined : 'subject organization is not system:nodes';

const notOfNode = ({subject: {commonName}}: SigningRequest): string | undefined =>
  commonName.startsWith(wellKnown.nodeUserPrefix) ? undefined : 'subject common name does not begin with system:node:';

const none = (names: readonly string[], what: string): string | undefined => (names.length > 0 ? `${what} subjectAltNames are not allowed` : undefined);

/** What keeps a request from being one for a node's client certificate, or undefined when nothing does. The first objection counts. */
export const nodeClientObjection = (request: SigningRequest, usages: readonly string[]): string | undefined =>
  notOfNodes(request) ??
  none(request.dnsNames, 'DNS') ??
  none(request.emailAddresses, 'Email') ??
  none(request.ipAddresses, 'IP') ??
  none(request.uris, 'URI') ??
  notOfNode(request) ??
  mismatch(usages, ['client auth', digitalSignature, keyEncipherment]);

/** The same for a node's serving certificate. */
export const nodeServingObjection = (request: SigningRequest, usages: readonly string[]): string | undefined =>
  notOfNodes(request) ??
  (request.dnsNames.length + request.ipAddresses.length === 0 ? 'DNS or IP subjectAltName is required' : undefined) ??
  none(request.emailAddresses, 'Email') ??
  none(request.uris, 'URI') ??
  mismatch(usages, [digitalSignature, keyEncipherment, 'server auth']) ??
  notOfNode(request);
