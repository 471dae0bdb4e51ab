import {type Authority, createAuthority, signRequest} from '#src/pki/authority.js';
import {certificatePem} from '#src/pki/certificate.js';
import {generatePrivateKey, privateKeyPem} from '#src/pki/keys/keys.js';
import {createSigningRequest, parseSigningRequest} from '#src/pki/signing-request.js';

/** Before virtual time begins, so that certificates are valid on virtual clocks and now. */
const issuedAt = Date.UTC(2025, 0, 1);
const lifetimeMs = 9 * 365 * 86_400_000;

export const anAuthority = async (commonName = 'test-ca'): Promise<Authority> =>
  createAuthority(await generatePrivateKey(), {commonName, now: issuedAt});

export interface TestPair {
  readonly cert: string;
  readonly key: string;
}

/** A certificate for a user or for the local host. */
export const aPair = async (
  authority: Authority,
  subject: {readonly commonName: string; readonly organizations?: readonly string[]},
  usage: 'client auth' | 'server auth',
): Promise<TestPair> => {
  const key = await generatePrivateKey();
  const request = createSigningRequest(key, {
    subject,
    ...(usage === 'server auth' ? {dnsNames: ['localhost'], ipAddresses: ['127.0.0.1']} : {}),
  });
  const raw = signRequest(authority, parseSigningRequest(request), {
    usages: ['digital signature', usage],
    maximumTtlMs: lifetimeMs,
    now: issuedAt,
  });
  return {cert: certificatePem({raw}), key: privateKeyPem(key)};
};
