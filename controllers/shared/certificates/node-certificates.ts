import {wellKnown} from '#src/api/user.js';
import type {SigningRequest} from '#src/pki/signing-request.js';

const digitalSignature = 'digital signature';
const keyEncipherment = 'key encipherment';

/**
 * Whether `usages` equal `wanted`, in any order, with repetitions; key encipherment is optional, as only RSA keys use
 * it.
 */
const match = (usages: readonly string[], wanted: readonly string[]): boolean => {
  const asked = new Set(usages);
  return [...asked].every(usage => wanted.includes(usage)) && wanted.every(usage => usage === keyEncipherment || asked.has(usage));
};

const checkUsages = (usages: readonly string[], wanted: readonly string[]): string | undefined =>
  match(usages, wanted) ? undefined : `usages did not match [${wanted.join(' ')}]`;

const checkOrganization = ({subject: {organizations}}: SigningRequest): string | undefined =>
  organizations.length === 1 && organizations[0] === wellKnown.nodes ? undefined : 'subject organization is not system:nodes';

const checkCommonName = ({subject: {commonName}}: SigningRequest): string | undefined =>
  commonName.startsWith(wellKnown.nodeUserPrefix) ? undefined : 'subject common name does not begin with system:node:';

const checkNoNames = (names: readonly string[], what: string): string | undefined =>
  names.length > 0 ? `${what} subjectAltNames are not allowed` : undefined;

/** Checks a request for a node's client certificate. Returns the first failure, or undefined. */
export const checkNodeClientRequest = (request: SigningRequest, usages: readonly string[]): string | undefined =>
  checkOrganization(request) ??
  checkNoNames(request.dnsNames, 'DNS') ??
  checkNoNames(request.emailAddresses, 'Email') ??
  checkNoNames(request.ipAddresses, 'IP') ??
  checkNoNames(request.uris, 'URI') ??
  checkCommonName(request) ??
  checkUsages(usages, ['client auth', digitalSignature, keyEncipherment]);

/** The same for a node's serving certificate. */
export const checkNodeServingRequest = (request: SigningRequest, usages: readonly string[]): string | undefined =>
  checkOrganization(request) ??
  (request.dnsNames.length + request.ipAddresses.length === 0 ? 'DNS or IP subjectAltName is required' : undefined) ??
  checkNoNames(request.emailAddresses, 'Email') ??
  checkNoNames(request.uris, 'URI') ??
  checkUsages(usages, [digitalSignature, keyEncipherment, 'server auth']) ??
  checkCommonName(request);
