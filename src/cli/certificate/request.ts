// `plat certificate request`: makes a key, has a certificate issued for it, and returns both.

import {kinds} from '#src/api/kinds/index.js';
import type {CertificateSigningRequest} from '#src/api/types.js';
import {sleep, type Clock} from '#src/base/clock.js';
import type {Client} from '#src/client/client.js';
import {generatePrivateKey, privateKeyPem} from '#src/pki/keys/keys.js';
import {createSigningRequest} from '#src/pki/signing-request.js';
import {conditionOf} from '#src/why/certificates/conditions.js';

/** What a certificate is requested for. */
export interface CertificateRequest {
  readonly name: string;
  /** The user that the certificate authenticates, and its groups. */
  readonly user: string;
  readonly groups: readonly string[];
  readonly signerName: string;
  /** How long it should be valid; the signer's default if 0. */
  readonly durationMs: number;
}

const pollMs = 500;

/**
 * Creates the request of a new key. Returns the key. Rejects with `AlreadyExists` if there is a request of that name.
 */
export const createRequest = async (client: Client, {name, user, groups, signerName, durationMs}: CertificateRequest): Promise<string> => {
  const key = await generatePrivateKey();
  const request = createSigningRequest(key, {subject: {commonName: user, organizations: groups}});
  await client.resource(kinds.certificateSigningRequests).create({
    metadata: {name},
    spec: {
      request: Buffer.from(request).toString('base64'),
      signerName,
      usages: ['digital signature', 'client auth'],
      ...(durationMs > 0 ? {expirationSeconds: Math.round(durationMs / 1000)} : {}),
    },
  });
  return privateKeyPem(key);
};

const isRefused = (csr: CertificateSigningRequest): boolean => ['Denied', 'Failed'].some(type => conditionOf(csr, type));

/** Resolves with the request once it has a certificate, is denied or failed, or the time is over. */
export const settledRequest = async (
  client: Client,
  name: string,
  {clock, timeoutMs, signal}: {readonly clock: Clock; readonly timeoutMs: number; readonly signal: AbortSignal},
): Promise<CertificateSigningRequest> => {
  const deadline = clock.monotonic() + timeoutMs;
  for (;;) {
    const csr = await client.resource(kinds.certificateSigningRequests).get(name, {signal});
    if (csr.status?.certificate || isRefused(csr) || clock.monotonic() >= deadline) return csr;
    await sleep(clock, pollMs, signal);
  }
};
