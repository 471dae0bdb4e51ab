import {sign, verify} from 'node:crypto';
import {createAuthority, signRequest} from '#src/pki/authority.js';
import {parseCertificate} from '#src/pki/certificate.js';
import {trustAnchors, verifyChain} from '#src/pki/chain.js';
import {generatePrivateKey} from '#src/pki/keys/keys.js';
import {checkRequestSignature, createSigningRequest, parseSigningRequest, parseSigningRequestDer} from '#src/pki/signing-request.js';

interface Row {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly baseline?: number;
  readonly ratio?: number;
  readonly note?: string;
}

/** Returns how often `act` runs per second on one core, after a warm-up. */
const perSecond = (act: () => void, forMs = 700): number => {
  const run = (ms: number) => {
    const start = performance.now();
    let count = 0;
    for (; performance.now() - start < ms; count++) act();
    return (count / (performance.now() - start)) * 1000;
  };
  run(forMs / 2);
  return Math.round(run(forMs));
};

const row = (name: string, baseline: number, note: string, act: () => void): Row => {
  const value = perSecond(act);
  return {name: `pki: ${name}`, value, unit: '/s', baseline, ratio: value / baseline, note: `ECDSA P-256, one core; beside ${note}`};
};

/** Issuing and verifying certificates, compared with the cryptographic operations that they need. */
export const pkiRows = async (): Promise<Row[]> => {
  const now = Date.now();
  const key = await generatePrivateKey();
  const authority = createAuthority(await generatePrivateKey(), {commonName: 'bench', now: now - 1000});
  const pem = createSigningRequest(key, {subject: {commonName: 'system:node:a', organizations: ['system:nodes']}});
  const terms = {usages: ['digital signature', 'client auth'], maximumTtlMs: 86_400_000, now};
  const request = parseSigningRequest(pem);
  const fresh = () => parseSigningRequestDer(request.raw); // Parsing by text would use the cache.
  const leaf = signRequest(authority, request, terms);
  const chainTerms = {anchors: trustAnchors([authority.certificate]), usage: 'client auth', now} as const;
  const {bytes, signature} = request.signed;
  const publicKey = request.publicKey!;

  const verifies = perSecond(() => verify('sha256', bytes, publicKey, signature));
  const signs = perSecond(() => verify('sha256', bytes, publicKey, signature) && sign('sha256', bytes, key));
  return [
    row('parse, verify and sign a request', signs, 'one verify and one sign', () => signRequest(authority, fresh(), terms)),
    row('parse and verify a request', verifies, 'one verify', () => checkRequestSignature(fresh())),
    row('parse a client certificate and verify its chain', verifies, 'one verify', () => verifyChain(parseCertificate(leaf), chainTerms)),
  ];
};
