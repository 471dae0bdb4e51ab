// Issues the certificates of plat's own components and of its administrator, from an authority at hand. Certificates
// for signing requests are issued by `signRequest` in authority.ts.

import type {KeyObject} from 'node:crypto';
import {noAlternativeNames, type AlternativeNames} from './alternative-names.js';
import {createAuthority, type Authority} from './authority.js';
import {certificatePem, parseCertificate, type Certificate} from './certificate.js';
import {buildCertificate} from './certificate-builder.js';
import {ipBytes, ipText, isAddress} from './ip.js';
import type {KeyPair, KeyPairPem} from './key-pair.js';
import {backdate} from './lifetime.js';
import {generatePrivateKey, privateKeyPem, publicKeyDer, type KeySpec} from '#src/pki/keys/keys.js';
import type {Subject} from './names.js';
import {certificateUsages} from './usages.js';

const day = 86_400_000;
const year = 365 * day;
/** Options of client and serving certificates. The defaults are an ECDSA P-256 key and a lifetime of one year. */
interface IssueOptions {
  readonly now: number;
  readonly lifetimeMs?: number;
  readonly key?: KeyObject;
  readonly keySpec?: KeySpec;
}

interface IssueRequest extends IssueOptions {
  readonly subject: Subject;
  readonly names: AlternativeNames;
  readonly usage: 'client auth' | 'server auth';
}

const issue = async ({certificate: issuer, key: issuerKey}: Authority, request: IssueRequest): Promise<KeyPair> => {
  const {now, lifetimeMs = year, subject, names, usage, key = await generatePrivateKey(request.keySpec)} = request;
  const usages = ['digital signature', ...(key.asymmetricKeyType === 'rsa' ? ['key encipherment'] : []), usage];
  const der = buildCertificate(
    {
      subject,
      names,
      validity: {notBefore: now - backdate, notAfter: Math.min(now + lifetimeMs, issuer.notAfter)},
      publicKeyInfo: publicKeyDer(key),
      usages: certificateUsages(usages),
      basicConstraints: {isAuthority: false, pathLength: undefined},
    },
    {key: issuerKey, name: issuer.subject.raw, keyIdentifier: issuer.subjectKeyIdentifier},
  );
  return {chain: [parseCertificate(der)], key};
};

/** Issues a client certificate: the common name is the user, the organizations are the groups. */
export const issueClientCertificate = (
  authority: Authority,
  options: IssueOptions & {commonName: string; organizations?: readonly string[]},
): Promise<KeyPair> => {
  const {commonName, organizations = []} = options;
  return issue(authority, {...options, subject: {commonName, organizations}, names: noAlternativeNames, usage: 'client auth'});
};

/** Returns host names and addresses as alternative names, without duplicates. */
export const hostAlternativeNames = (hosts: readonly string[]): AlternativeNames => {
  const addresses = hosts.filter(host => isAddress(host)).map(host => ipText(ipBytes(host)));
  return {...noAlternativeNames, dnsNames: [...new Set(hosts.filter(host => !isAddress(host)))], ipAddresses: [...new Set(addresses)]};
};

/** Issues a serving certificate for `hosts` (DNS names and IP addresses). */
export const issueServingCertificate = (
  authority: Authority,
  options: IssueOptions & {commonName: string; hosts: readonly string[]},
): Promise<KeyPair> =>
  issue(authority, {
    ...options,
    subject: {commonName: options.commonName},
    names: hostAlternativeNames(options.hosts),
    usage: 'server auth',
  });

/**
 * Creates a serving certificate signed by a new authority whose key is discarded. The chain includes the authority's
 * certificate.
 */
export const createSelfSignedServing = async (options: {
  host: string;
  hosts: readonly string[];
  now: number;
  lifetimeMs?: number;
}): Promise<KeyPair> => {
  const {host, hosts, now, lifetimeMs = year} = options;
  const stamp = Math.floor(now / 1000);
  const authority = createAuthority(await generatePrivateKey(), {
    commonName: `${host}-ca@${stamp}`,
    now,
    lifetimeMs,
  });
  const pair = await issueServingCertificate(authority, {now, lifetimeMs, commonName: `${host}@${stamp}`, hosts: [host, ...hosts]});
  return {...pair, chain: [...pair.chain, authority.certificate]};
};

/** Returns a key pair in PEM: the chain, leaf first, and the key. */
export const keyPairPem = ({chain, key}: {chain: readonly Certificate[]; key: KeyObject}): KeyPairPem => ({
  certificate: chain.map(certificatePem).join(''),
  key: privateKeyPem(key),
});
