// Certificate authorities: loading, creation, and issuing of certificates for signing requests. Whether a request gets
// a certificate is decided elsewhere.

import {createHash, type KeyObject} from 'node:crypto';
import {runSteps, type Steps} from '#src/base/steps.js';
import {certificatePem, parseCertificate, parseCertificateBundle, type Certificate} from './certificate.js';
import {buildCertificate, buildCertificateInSteps} from './certificate-builder.js';
import {DerReader, readOctetsOfBitString, tags} from '#src/pki/encoding/der.js';
import {withMessagePrefix, PkiError} from '#src/pki/encoding/error.js';
import {parseKeyPair, type KeyPairPem} from './key-pair.js';
import {privateKeyPem, publicKeyDer} from '#src/pki/keys/keys.js';
import {backdate, certificateValidity, grantedTtl} from './lifetime.js';
import {subjectInSteps} from './names.js';
import {authorityAlgorithm} from '#src/pki/keys/signatures.js';
import {checkRequestSignature, type SigningRequest} from './signing-request.js';
import {certificateUsages} from './usages.js';

/** A certificate authority: its certificate and private key. */
export interface Authority {
  readonly certificate: Certificate;
  readonly key: KeyObject;
}

/**
 * Loads an authority from its two files. `name` identifies it in error messages. The certificate file must contain
 * exactly one certificate, and the key must match it and be able to sign.
 */
export const loadAuthority = (name: string, certificate: Buffer | string, key: Buffer | string): Authority => {
  if (certificate.length === 0 || key.length === 0) throw new PkiError(`missing content for serving cert ${JSON.stringify(name)}`);
  const pair = parseKeyPair(certificate, key);
  const [only, ...more] = parseCertificateBundle(certificate);
  if (!only || more.length > 0) {
    throw new PkiError(`error reading CA cert file ${JSON.stringify(name)}: expected 1 certificate, found ${more.length + 1}`);
  }
  authorityAlgorithm(pair.key);
  return {certificate: only, key: pair.key};
};

/** The key identifier of RFC 7093 §2, method 1: the first 160 bits of the SHA-256 of the public key's bits. */
const keyIdentifier = (publicKeyInfo: Buffer): Buffer => {
  const info = new DerReader(publicKeyInfo).enter();
  info.next(tags.sequence);
  return createHash('sha256')
    .update(readOctetsOfBitString(info.next(tags.bitString)))
    .digest()
    .subarray(0, 20);
};

const tenYears = 3650 * 86_400_000;

/** Creates a self-signed authority, valid for ten years by default, and backdated. */
export const createAuthority = (key: KeyObject, options: {commonName: string; now: number; lifetimeMs?: number}): Authority => {
  const {commonName, now, lifetimeMs = tenYears} = options;
  const publicKeyInfo = publicKeyDer(key);
  const der = buildCertificate(
    {
      subject: {commonName},
      validity: {notBefore: now - backdate, notAfter: now + lifetimeMs},
      publicKeyInfo,
      usages: certificateUsages(['digital signature', 'cert sign', 'crl sign']),
      basicConstraints: {isAuthority: true, pathLength: undefined},
      subjectKeyIdentifier: keyIdentifier(publicKeyInfo),
    },
    {key},
  );
  return {certificate: parseCertificate(der), key};
};

/** Returns an authority in PEM. */
export const authorityPem = ({certificate, key}: Authority): KeyPairPem => ({
  certificate: certificatePem(certificate),
  key: privateKeyPem(key),
});

/** What a signer decides beside the request's content. */
export interface SigningOptions {
  readonly usages: readonly string[];
  /** The requested lifetime; the maximum by default. */
  readonly expirationSeconds?: number | undefined;
  readonly maximumTtlMs: number;
  readonly now: number;
}

/**
 * Issues a certificate for a request, in DER, after verifying the request's signature. Only the known attributes of the
 * subject, the alternative names and the key are taken from the request; the certificate is never that of an authority.
 */
export const signRequest = (authority: Authority, request: SigningRequest, options: SigningOptions): Buffer =>
  runSteps(signRequestInSteps(authority, request, options));

/** The same in steps: a request may have very many names. */
export const signRequestInSteps = function* (
  {certificate: issuer, key}: Authority,
  request: SigningRequest,
  options: SigningOptions,
): Steps<Buffer> {
  withMessagePrefix('unable to verify certificate request signature', () => checkRequestSignature(request));
  const usages = certificateUsages(options.usages);
  const validity = certificateValidity(options.now, grantedTtl(options.expirationSeconds, options.maximumTtlMs), issuer.notAfter);
  return yield* buildCertificateInSteps(
    {
      subject: yield* subjectInSteps(request.subject),
      validity,
      publicKeyInfo: request.publicKeyInfo,
      usages,
      names: request,
      basicConstraints: {isAuthority: false, pathLength: undefined},
    },
    {key, name: issuer.subject.raw, keyIdentifier: issuer.subjectKeyIdentifier},
  );
};
