import {createHash, type KeyObject} from 'node:crypto';
import {certificatePem, parseCertificate, parseCertificateBundle, type Certificate} from './certificate.js';
import {buildCertificate} from './certificate-builder.js';
import {DerReader, readOctetsOfBitString, tags} from './der.js';
import {withMessagePrefix, PkiError} from './error.js';
import {parseKeyPair, type KeyPairPem} from './key-pair.js';
import {privateKeyPem, publicKeyDer} from './keys.js';
import {certificateValidity, grantedTtl} from './lifetime.js';
import {subjectOf} from './names.js';
import {authorityAlgorithm} from './signatures.js';
import {checkRequestSignature, type SigningRequest} from './signing-request.js';
import {certificateUsages} from './usages.js';

/** A certificate authority at work: its certificate and its private key. */
export interface Authority {
  readonly certificate: Certificate;
  readonly key: KeyObject;
}

/**
 * Loads an authority from the content of its two files, of which `name` tells in messages. The certificate file must hold exactly one
 * certificate, the key must belong to it and be able to sign.
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
  return createHash('sha256').update(readOctetsOfBitString(info.next(tags.bitString))).digest().subarray(0, 20);
};

const tenYears = 3650 * 86_400_000;

/** Makes an authority that vouches for itself, valid for ten years unless asked otherwise. */
export const createAuthority = (key: KeyObject, options: {commonName: string; now: number; lifetimeMs?: number}): Authority => {
  const {commonName, now, lifetimeMs = tenYears} = options;
  const publicKeyInfo = publicKeyDer(key);
  const der = buildCertificate(
    {
      subject: {commonName},
      validity: {notBefore: now, notAfter: now + lifetimeMs},
      publicKeyInfo,
      usages: certificateUsages(['digital signature', 'cert sign', 'crl sign']),
      basicConstraints: {isAuthority: true, pathLength: undefined},
      subjectKeyIdentifier: keyIdentifier(publicKeyInfo),
    },
    {key},
  );
  return {certificate: parseCertificate(der), key};
};

/** An authority's two files. */
export const authorityPem = ({certificate, key}: Authority): KeyPairPem => ({certificate: certificatePem(certificate), key: privateKeyPem(key)});

/** What a signer is told beside the request. */
export interface SigningOptions {
  readonly usages: readonly string[];
  /** The life asked for; without it the maximum is granted. */
  readonly expirationSeconds?: number | undefined;
  readonly maximumTtlMs: number;
  readonly now: number;
}

/**
 * Issues a certificate for a request, in DER. The request's signature is verified first. Of the request only the subject's known attributes,
 * the alternative names and the key survive; the result is never an authority.
 */
export const signRequest = ({certificate: issuer, key}: Authority, request: SigningRequest, options: SigningOptions): Buffer => {
  withMessagePrefix('unable to verify certificate request signature', () => checkRequestSignature(request));
  const usages = certificateUsages(options.usages);
  const validity = certificateValidity(options.now, grantedTtl(options.expirationSeconds, options.maximumTtlMs), issuer.notAfter);
  return buildCertificate(
    {
      subject: subjectOf(request.subject),
      validity,
      publicKeyInfo: request.publicKeyInfo,
      usages,
      names: request,
      basicConstraints: {isAuthority: false, pathLength: undefined},
    },
    {key, name: issuer.subject.raw, keyIdentifier: issuer.subjectKeyIdentifier},
  );
};
