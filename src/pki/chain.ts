// Verification of certificate chains (RFC 5280 §6) at a given time, with Go's choice of errors. The number of
// signatures that it checks is bounded.

import type {Certificate} from './certificate.js';
import {PkiError} from '#src/pki/encoding/error.js';
import {extensionOids} from '#src/pki/encoding/oids.js';
import {checkSignature} from '#src/pki/keys/signatures.js';
import {rfc3339} from '#src/pki/encoding/times.js';

/** Trusted root certificates, indexed by subject. */
export interface TrustAnchors {
  readonly certificates: readonly Certificate[];
  readonly bySubject: ReadonlyMap<string, readonly Certificate[]>;
}

export type RequiredUsage = 'client auth' | 'server auth' | 'any';

/** The requirements of a certificate chain. */
export interface ChainVerifyOptions {
  readonly anchors: TrustAnchors;
  /** The further certificates that the peer sent, in any order. */
  readonly intermediates?: readonly Certificate[];
  readonly usage: RequiredUsage;
  readonly now: number;
}

export type ChainErrorReason = 'expired' | 'unknown authority' | 'wrong usage' | 'invalid';

/** The verified chain from the leaf to an anchor, or the reason why there is none. */
export type ChainResult =
  | {readonly verified: true; readonly chain: readonly Certificate[]}
  | {readonly verified: false; readonly reason: ChainErrorReason; readonly message: string};

/** The maximum number of signatures checked in one verification, which bounds the work that a peer can cause. */
const signatureBudget = 100;

const nameKey = (raw: Buffer): string => raw.toString('latin1');

const grouped = (certificates: readonly Certificate[]): Map<string, Certificate[]> => {
  const groups = new Map<string, Certificate[]>();
  for (const certificate of certificates) {
    const key = nameKey(certificate.subject.raw);
    const group = groups.get(key);
    if (group) group.push(certificate);
    else groups.set(key, [certificate]);
  }
  return groups;
};

export const trustAnchors = (certificates: readonly Certificate[]): TrustAnchors => ({certificates, bySubject: grouped(certificates)});

/** Extensions that may be critical. Name constraints are not supported; certificates that have them are rejected. */
const handledExtensions = new Set<string>([
  extensionOids.keyUsage,
  extensionOids.subjectAlternativeName,
  extensionOids.basicConstraints,
  extensionOids.extendedKeyUsage,
  extensionOids.subjectKeyIdentifier,
  extensionOids.authorityKeyIdentifier,
  '2.5.29.31', // CRL distribution points.
  '2.5.29.32', // Certificate policies.
]);

class ChainError extends PkiError {
  readonly reason: ChainErrorReason;

  constructor(reason: ChainErrorReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

const checkCertificate = (certificate: Certificate, now: number): void => {
  const {extensions, notBefore, notAfter} = certificate;
  if (extensions.some(({critical, oid}) => (critical && !handledExtensions.has(oid)) || oid === extensionOids.nameConstraints)) {
    throw new ChainError('invalid', 'x509: unhandled critical extension');
  }
  const outside = (how: string, limit: number) =>
    new ChainError(
      'expired',
      `x509: certificate has expired or is not yet valid: current time ${rfc3339(now)} is ${how} ${rfc3339(limit)}`,
    );
  if (now < notBefore) throw outside('before', notBefore);
  if (now > notAfter) throw outside('after', notAfter);
};

/**
 * Throws if a parent may not sign the chain below it. `below` is the number of intermediate authorities in that chain.
 */
const checkAuthority = (parent: Certificate, below: number, isAnchor: boolean): void => {
  const {basicConstraints: constraints, keyUsage, version} = parent;
  const isNoAuthority = constraints ? !constraints.isAuthority : version === 3 || !isAnchor;
  if (isNoAuthority || keyUsage?.has('certSign') === false) {
    throw new ChainError('invalid', 'x509: invalid signature: parent certificate cannot sign this kind of certificate');
  }
  if (below > (constraints?.pathLength ?? Infinity))
    throw new ChainError('invalid', 'x509: too many intermediates for path length constraint');
};

const allows = ({extendedUsages}: Certificate, usage: RequiredUsage): boolean =>
  usage === 'any' || !extendedUsages || extendedUsages.includes(usage) || extendedUsages.includes('any');

const sameCertificate = (one: Certificate, other: Certificate): boolean => one.raw.equals(other.raw);

/** Sorts parents whose key identifier matches first and those with a different one last. */
const parentRank = (child: Certificate, {subjectKeyIdentifier: id}: Certificate): number => {
  const wanted = child.authorityKeyIdentifier;
  if (!wanted || !id) return 1;
  return wanted.equals(id) ? 0 : 2;
};

/** A depth-first search for chains. The first error is kept for the message. */
class ChainSearch {
  readonly #options: ChainVerifyOptions;
  readonly #intermediates: ReadonlyMap<string, readonly Certificate[]>;
  #checks = 0;
  firstError: {error: Error; parent: Certificate} | undefined;

  constructor(options: ChainVerifyOptions) {
    this.#options = options;
    this.#intermediates = grouped(options.intermediates ?? []);
  }

  /** Yields every chain from the last certificate of `chain` to an anchor. */
  *chains(chain: readonly Certificate[]): Generator<readonly Certificate[]> {
    const child = chain.at(-1)!;
    for (const anchor of this.#parents(child, this.#options.anchors.bySubject)) {
      if (this.#signs(anchor, chain, true)) yield [...chain, anchor];
    }
    for (const parent of this.#parents(child, this.#intermediates)) {
      if (!chain.some(known => sameCertificate(known, parent)) && this.#signs(parent, chain, false)) yield* this.chains([...chain, parent]);
    }
  }

  #parents(child: Certificate, bySubject: ReadonlyMap<string, readonly Certificate[]>): readonly Certificate[] {
    const named = bySubject.get(nameKey(child.issuer.raw)) ?? [];
    return named.length < 2 ? named : named.toSorted((a, b) => parentRank(child, a) - parentRank(child, b));
  }

  #signs(parent: Certificate, chain: readonly Certificate[], isAnchor: boolean): boolean {
    if (++this.#checks > signatureBudget)
      throw new ChainError('invalid', 'x509: signature check attempts limit reached while verifying certificate chain');
    try {
      checkAuthority(parent, chain.length - 1, isAnchor);
      checkSignature(chain.at(-1)!.signed, parent.publicKey, {allowSha1: false});
      checkCertificate(parent, this.#options.now);
      return true;
    } catch (error) {
      if (!(error instanceof PkiError)) throw error;
      this.firstError ??= {error, parent};
      return false;
    }
  }
}

const unknownAuthority = ({firstError}: ChainSearch): ChainError => {
  const message = 'x509: certificate signed by unknown authority';
  if (!firstError) return new ChainError('unknown authority', message);
  const {commonName, organizations} = firstError.parent.subject;
  const name = commonName || organizations[0] || `serial:${firstError.parent.serial}`;
  const hint = `possibly because of ${JSON.stringify(firstError.error.message)} while trying to verify candidate authority certificate ${JSON.stringify(name)}`;
  return new ChainError('unknown authority', `${message} (${hint})`);
};

const findChain = (leaf: Certificate, options: ChainVerifyOptions): readonly Certificate[] => {
  checkCertificate(leaf, options.now);
  const search = new ChainSearch(options);
  const isAnchor = options.anchors.bySubject.get(nameKey(leaf.subject.raw))?.some(anchor => sameCertificate(anchor, leaf));
  let found = false;
  for (const chain of isAnchor ? [[leaf]] : search.chains([leaf])) {
    found = true;
    if (chain.every(certificate => allows(certificate, options.usage))) return chain;
  }
  throw found ? new ChainError('wrong usage', 'x509: certificate specifies an incompatible key usage') : unknownAuthority(search);
};

/**
 * Verifies that there is a chain from `leaf` to an anchor in which every certificate is valid at `now`, signed by the
 * next one, and allowed for the usage (RFC 5280 §6.1, without policies and name constraints). SHA-1 signatures are
 * rejected. Revocation is not checked.
 */
export const verifyChain = (leaf: Certificate, options: ChainVerifyOptions): ChainResult => {
  try {
    return {verified: true, chain: findChain(leaf, options)};
  } catch (error) {
    if (!(error instanceof ChainError)) throw error;
    return {verified: false, reason: error.reason, message: error.message};
  }
};
