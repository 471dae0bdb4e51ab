import {createHash} from 'node:crypto';
import type {Naming} from '#src/api/naming.js';
import type {UserInfo} from '#src/api/user.js';
import {CacheBound} from '#src/base/cache-bound.js';
import type {Clock} from '#src/base/clock.js';
import type {Histogram, Meter} from '#src/base/meter.js';
import {Lru} from '#src/base/lru.js';
import {fingerprint, parseCertificate, type Certificate} from '#src/pki/certificate.js';
import {verifyChain, type TrustAnchors} from '#src/pki/chain.js';
import {userIdOf, subjectOf} from '#src/pki/names.js';
import type {Authentication, Authenticator} from '#src/api/authentication.js';

/** The CAs of client certificates; a new object whenever the file changes. */
export interface ClientAuthorities {
  readonly current: TrustAnchors;
}

/** Cached verifications, for clients that reconnect often. */
const bound = new CacheBound('verified_certificates', 4 << 20);

/** How long a refusal is cached: a certificate may become valid, or a CA may be added. */
const recheckMs = 1000;

interface Verified {
  readonly authorities: TrustAnchors;
  readonly result: Authentication;
  /** The time in ms since the epoch at which the certificate has to be verified again. */
  readonly until: number;
  /** The time in ms since the epoch at which the certificate expires, of one that is accepted. */
  readonly expires?: number | undefined;
}

export interface X509Parts {
  readonly clock: Clock;
  readonly naming: Naming;
  readonly withUid: boolean;
  /** Observes the seconds that a certificate is still valid, for each request that it authenticates. */
  readonly lifetimes?: ReturnType<Histogram['at']> | undefined;
}

/** The histogram of the remaining lifetimes of client certificates, of an API server. */
export const clientCertificateLifetimes = (meter: Meter): Histogram =>
  meter.histogram({
    name: 'apiserver_client_certificate_expiration_seconds',
    help: 'Distribution of the remaining lifetime on the certificate used to authenticate a request.',
    buckets: [0, 1800, 3600, 7200, 21_600, 43_200, 86_400, 172_800, 345_600, 604_800, 2_592_000, 7_776_000, 15_552_000, 31_104_000],
  });

/**
 * Authenticates the client certificate of a connection: it must chain to one of the CAs, be valid at present and be
 * meant for client authentication. The common name is the user, the organizations are the groups. Verified once, until
 * a certificate of the chain expires or the CAs change.
 */
export const x509Authenticator = (authorities: ClientAuthorities, {clock, naming, withUid, lifetimes}: X509Parts): Authenticator => {
  const verified = new WeakMap<object, Verified>();
  const accepted = new Lru<string, Verified>(bound, {bytesOf: ({result}) => 500 + 3 * JSON.stringify(result).length});
  const holds = (known: Verified | undefined): known is Verified => known?.authorities === authorities.current && clock.now() < known.until;
  const verify = (chain: readonly Buffer[]): Omit<Verified, 'authorities'> => {
    const now = clock.now();
    try {
      const [leaf, ...intermediates] = chain.map(der => parseCertificate(der));
      const outcome = verifyChain(leaf!, {anchors: authorities.current, intermediates, usage: 'client auth', now});
      if (!outcome.verified) return {result: {rejected: outcome.message}, until: now + recheckMs};
      const user = userOf(leaf!, naming, withUid);
      return {
        result: user ? {user} : {rejected: 'the certificate has no common name'},
        until: Math.min(...outcome.chain.map(({notAfter}) => notAfter)),
        expires: leaf!.notAfter,
      };
    } catch (error) {
      return {result: {rejected: (error as Error).message}, until: now + recheckMs};
    }
  };
  /**
   * Returns the verification of a chain, cached across connections. Refusals are not cached here, since their number is
   * unlimited.
   */
  const verifiedChain = (chain: readonly Buffer[]): Verified => {
    const hash = createHash('sha256');
    for (const der of chain) hash.update(der);
    const key = hash.digest('base64');
    const known = accepted.get(key);
    if (holds(known)) return known;
    const fresh = {authorities: authorities.current, ...verify(chain)};
    if (fresh.result && 'user' in fresh.result) accepted.set(key, fresh);
    return fresh;
  };
  return {
    name: 'x509',
    authenticate({credentials}) {
      const {certificates, connection} = credentials;
      if (certificates.length === 0) return undefined;
      let known = connection && verified.get(connection);
      if (!holds(known)) {
        known = verifiedChain(certificates);
        if (connection) verified.set(connection, known);
      }
      if (lifetimes && known.expires !== undefined) lifetimes.observe((known.expires - clock.now()) / 1000);
      return known.result;
    },
  };
};

const userOf = (leaf: Certificate, naming: Naming, withUid: boolean): UserInfo | undefined => {
  const {commonName, organizations} = subjectOf(leaf.subject);
  if (!commonName) return undefined;
  const uid = withUid ? userIdOf(leaf.subject) : undefined;
  return {
    name: commonName,
    ...(uid ? {uid} : {}),
    groups: organizations ?? [],
    extra: {[naming.extras.credentialId]: [`X509SHA256=${fingerprint(leaf)}`]},
  };
};
