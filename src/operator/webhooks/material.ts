// The certificates of webhooks: a self-signed CA and a serving certificate, each rotated before it expires.

import {authorityPem, createAuthority, loadAuthority, type Authority} from '#src/pki/authority.js';
import {certificatePem, parseCertificateBundle, type Certificate} from '#src/pki/certificate.js';
import {hostAlternativeNames, issueServingCertificate, keyPairPem} from '#src/pki/issuing.js';
import {parseKeyPair, type KeyPair} from '#src/pki/key-pair.js';
import {generatePrivateKey} from '#src/pki/keys/keys.js';

/**
 * All in PEM. `authorities` begins with the CA of `authorityKey`; older ones are kept until they expire, since
 * certificates that they issued may still be in use.
 */
export interface Material {
  readonly certificate: string;
  readonly key: string;
  readonly authorities: string;
  readonly authorityKey: string;
}

export interface MaterialOptions {
  readonly hosts: readonly string[];
  readonly commonName: string;
  readonly now: number;
}

const day = 86_400_000;
const authorityLifetimeMs = 3650 * day;
const lifetimeMs = 90 * day;
/** A certificate is rotated in the last third of its lifetime, a CA in the last fifth. */
const renewBeforeMs = lifetimeMs / 3;
const renewAuthorityBeforeMs = authorityLifetimeMs / 5;
/** The delay between a new CA and the first certificate that it issues: by then callers trust it. */
const publishedAfterMs = day;
const maxAuthorities = 3;

/**
 * Returns the material that replaces the current one; undefined if that is still good. Unreadable material is replaced.
 */
export const renewedMaterial = async (present: Material, {hosts, commonName, now}: MaterialOptions): Promise<Material | undefined> => {
  const authority = authorityOf(present);
  const isAuthorityDue = !authority || authority.certificate.notAfter - now < renewAuthorityBeforeMs;
  const signing = isAuthorityDue
    ? createAuthority(await generatePrivateKey(), {
        commonName: `${commonName}-ca@${Math.floor(now / 1000)}`,
        now,
        lifetimeMs: authorityLifetimeMs,
      })
    : authority;
  const older = bundleOf(present).filter(({raw, notAfter}) => notAfter > now && !raw.equals(signing.certificate.raw));
  const trusted = [signing.certificate, ...older].slice(0, maxAuthorities);
  const pair = pairOf(present);
  const isPairDue = !pair || !serves(pair, trusted, hosts) || isDue(pair, signing, now);
  if (!isAuthorityDue && !isPairDue) return undefined;
  const next = isPairDue ? keyPairPem(await issueServingCertificate(signing, {commonName, hosts, now, lifetimeMs})) : present;
  return {
    certificate: next.certificate,
    key: next.key,
    authorities: trusted.map(certificatePem).join(''),
    authorityKey: authorityPem(signing).key,
  };
};

/** Whether a certificate covers all hosts and is issued by a trusted CA. */
const serves = ({chain: [leaf]}: KeyPair, trusted: readonly Certificate[], hosts: readonly string[]): boolean => {
  const {dnsNames, ipAddresses} = hostAlternativeNames(hosts);
  return (
    trusted.some(({subject}) => subject.raw.equals(leaf.issuer.raw)) &&
    dnsNames.every(name => leaf.dnsNames.includes(name)) &&
    ipAddresses.every(address => leaf.ipAddresses.includes(address))
  );
};

const isDue = ({chain: [leaf]}: KeyPair, signing: Authority, now: number): boolean => {
  const leftMs = leaf.notAfter - now;
  if (leftMs < day || leaf.notBefore > now) return true;
  const isPublished = now - signing.certificate.notBefore > publishedAfterMs;
  return isPublished && (leftMs < renewBeforeMs || !leaf.issuer.raw.equals(signing.certificate.subject.raw));
};

const orNone = <T>(read: () => T): T | undefined => {
  try {
    return read();
  } catch {
    return undefined;
  }
};

const bundleOf = ({authorities}: Material): readonly Certificate[] => orNone(() => parseCertificateBundle(authorities)) ?? [];

const authorityOf = (present: Material): Authority | undefined => {
  const [first] = bundleOf(present);
  return first && orNone(() => loadAuthority('webhooks', certificatePem(first), present.authorityKey));
};

const pairOf = ({certificate, key}: Material): KeyPair | undefined => orNone(() => parseKeyPair(certificate, key));
