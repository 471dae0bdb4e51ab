// PKCS #10 certification requests (RFC 2986): parsing, verification of their signature, and creation. Parsed requests
// are cached, since the server and several controllers parse the same ones. Whether a request may be issued is decided
// elsewhere.

import type {KeyObject} from 'node:crypto';
import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';
import {runSteps, type Steps} from '#src/base/steps.js';
import {
  buildAlternativeNames,
  hasAlternativeNames,
  noAlternativeNames,
  readAlternativeNamesInSteps,
  type AlternativeNames,
} from './alternative-names.js';
import {
  DerReader,
  elementsOf,
  onlyElement,
  readInteger,
  readOctetsOfBitString,
  readOid,
  tags,
  type Element,
} from '#src/pki/encoding/der.js';
import {bits, integer, oid, sequence, setOf, wrapped} from '#src/pki/encoding/der-builder.js';
import {PkiError} from '#src/pki/encoding/error.js';
import {buildAlternativeNamesExtension, readExtensions, type Extension} from './extensions.js';
import {publicKeyDer, readPublicKey} from '#src/pki/keys/keys.js';
import {buildName, readNameInSteps, type DistinguishedName, type Subject} from './names.js';
import {extensionOids, extensionRequestOid} from '#src/pki/encoding/oids.js';
import {firstPemBlock, toPem} from '#src/pki/encoding/pem.js';
import {
  buildSignatureAlgorithm,
  checkSignature,
  readSignatureAlgorithm,
  requestAlgorithm,
  signBytes,
  type SignedBytes,
} from '#src/pki/keys/signatures.js';

/** A PKCS #10 certification request (RFC 2986), with the requested alternative names. */
export interface SigningRequest extends AlternativeNames {
  readonly raw: Buffer;
  readonly subject: DistinguishedName;
  /** SubjectPublicKeyInfo in DER. */
  readonly publicKeyInfo: Buffer;
  /** Undefined if the key's algorithm is not supported; then the signature never verifies. */
  readonly publicKey: KeyObject | undefined;
  readonly requestedExtensions: readonly Extension[];
  readonly signed: SignedBytes;
}

const pemLabel = 'CERTIFICATE REQUEST';

const requestedExtensionsIn = (attributes: Element): Extension[] => {
  const duplicates = 'x509: certificate request contains duplicate requested extensions';
  for (const element of elementsOf(attributes.content)) {
    if (element.tag !== tags.sequence) throw new PkiError('asn1: structure error: malformed attribute');
    const attribute = element.reader();
    if (readOid(attribute.next(tags.oid)) !== extensionRequestOid) continue;
    return readExtensions(attribute.enter(tags.set).next(tags.sequence), duplicates);
  }
  return [];
};

/** Parses a PKCS #10 structure in DER. Does not verify its signature: `checkRequestSignature` does. */
export const parseSigningRequestDer = (raw: Buffer): SigningRequest => runSteps(parseDerInSteps(raw));

const parseDerInSteps = function* (raw: Buffer): Steps<SigningRequest> {
  const outer = new DerReader(onlyElement(raw, tags.sequence));
  const info = outer.next(tags.sequence);
  const algorithm = readSignatureAlgorithm(outer.next(tags.sequence));
  const signature = readOctetsOfBitString(outer.next(tags.bitString));
  outer.end();

  const inner = info.reader();
  readInteger(inner.next(tags.integer)); // The version is not used.
  const subject = yield* readNameInSteps(inner.next(tags.sequence));
  const publicKeyInfo = inner.next(tags.sequence).raw;
  const requestedExtensions = requestedExtensionsIn(inner.next(tags.contextConstructed(0)));
  inner.end();

  const names = requestedExtensions.find(extension => extension.oid === extensionOids.subjectAlternativeName);
  return {
    raw,
    subject,
    publicKeyInfo,
    publicKey: readPublicKey(publicKeyInfo),
    requestedExtensions,
    ...(names ? yield* readAlternativeNamesInSteps(names.value) : noAlternativeNames),
    signed: {bytes: info.raw, signature, algorithm},
  };
};

/** A request is parsed by the server and by several controllers, so parsed requests are cached. */
const bound = new CacheBound('signing_requests', 16 << 20);
// A parsed request with its key is several times the size of its text.
const parsedRequests = new Lru<string, SigningRequest>(bound, {bytesOf: ({raw}) => 4096 + 8 * raw.length});
const maxCachedLength = 8192;
const verified = new WeakSet<SigningRequest>();

/**
 * Parses the first PEM block, whose label must be CERTIFICATE REQUEST; other text is ignored. Does not verify the
 * signature. Equal texts may return the same object.
 */
export const parseSigningRequest = (pem: Buffer | string): SigningRequest => runSteps(parseSigningRequestInSteps(pem));

/** The same in steps: a request may have very many names. */
export const parseSigningRequestInSteps = function* (pem: Buffer | string): Steps<SigningRequest> {
  const text = typeof pem === 'string' ? pem : pem.toString('latin1');
  const known = parsedRequests.get(text);
  if (known) return known;
  const block = firstPemBlock(pem);
  if (block?.label !== pemLabel) throw new PkiError(`PEM block type must be ${pemLabel}`);
  yield;
  const request = yield* parseDerInSteps(block.bytes);
  if (text.length <= maxCachedLength) parsedRequests.set(text, request);
  return request;
};

/**
 * Throws if the request is not signed with its own key. SHA-1 is accepted, since the signature only proves possession
 * of the key.
 */
export const checkRequestSignature = (request: SigningRequest): void => {
  if (verified.has(request)) return;
  checkSignature(request.signed, request.publicKey, {allowSha1: true});
  verified.add(request);
};

/** The content of a request to be created. */
export interface RequestTemplate extends Partial<AlternativeNames> {
  readonly subject: Subject;
}

const requestedAttributes = (names: AlternativeNames, subjectIsEmpty: boolean): Buffer[] => {
  if (!hasAlternativeNames(names)) return [];
  const extension = buildAlternativeNamesExtension(buildAlternativeNames(names), subjectIsEmpty);
  return [sequence(oid(extensionRequestOid), setOf([sequence(extension)]))];
};

/** Creates a request for `privateKey`, signed with it, in PEM. */
export const createSigningRequest = (privateKey: KeyObject, {subject, ...names}: RequestTemplate): string => {
  const name = buildName(subject);
  const algorithm = requestAlgorithm(privateKey);
  const attributes = requestedAttributes({...noAlternativeNames, ...names}, name.length === 2);
  const info = sequence(integer(0n), name, publicKeyDer(privateKey), wrapped(tags.contextConstructed(0), ...attributes));
  const signature = signBytes(algorithm, info, privateKey);
  return toPem(pemLabel, sequence(info, buildSignatureAlgorithm(algorithm), bits(signature)));
};
