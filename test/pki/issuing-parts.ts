import {createAuthority, signRequest, type SigningOptions} from '#src/pki/authority.js';
import {parseCertificate} from '#src/pki/certificate.js';
import {generatePrivateKey} from '#src/pki/keys/keys.js';
import {parseSigningRequest} from '#src/pki/signing-request.js';

export const now = Date.parse('2026-01-01T00:00:00Z');
export const year = 8760 * 3_600_000;
export const key = await generatePrivateKey();
export const rsaKey = await generatePrivateKey({kind: 'rsa'});
export const authority = createAuthority(await generatePrivateKey(), {commonName: 'authority', now});

export const issue = (pem: string, terms: Partial<SigningOptions> = {}, by = authority) =>
  parseCertificate(signRequest(by, parseSigningRequest(pem), {usages: ['client auth'], maximumTtlMs: year, now, ...terms}));

export const san = '2.5.29.17';
