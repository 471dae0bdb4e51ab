// The keys and certificates of a plane in its data directory: created on the first start, renewed when close to expiry.
// Without a data directory they are in a temporary one.

import {readFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import type {Clock} from '#src/base/clock.js';
import {systemFiles, warnOfSharedFolder, type Files} from '#src/base/files/files.js';
import {makeFolder} from '#src/base/files/folder.js';
import {noLog, type Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {authorityPem, createAuthority, loadAuthority, type Authority} from '#src/pki/authority.js';
import {parseCertificate, type Certificate} from '#src/pki/certificate.js';
import {issueClientCertificate, issueServingCertificate, keyPairPem} from '#src/pki/issuing.js';
import type {KeyPair} from '#src/pki/key-pair.js';
import {generatePrivateKey, parsePrivateKey, privateKeyPem, publicKeyPem} from '#src/pki/keys/keys.js';
import {firstPemBlock} from '#src/pki/encoding/pem.js';
import {formatGoTime} from '#src/pki/encoding/times.js';
import type {ServingPair} from './embedded.js';

const day = 24 * 3600 * 1000;
/** A certificate is renewed when less than this fraction of its lifetime is left. */
const renewAt = 0.2;

/** The identity of the server towards aggregated servers. */
export const proxyClientName = 'front-proxy-client';

/** The keys and certificates of a plane: the paths of their files, and the CA. */
export interface PlaneMaterial {
  readonly authority: Authority;
  readonly files: {
    readonly ca: string;
    readonly caKey: string;
    /** The CA of the legacy signer, which no component trusts, since it signs any approved request. */
    readonly legacyCa: string;
    readonly legacyCaKey: string;
    readonly admin: string;
    readonly adminKey: string;
    /** The client certificate for node agents. */
    readonly agentClient: string;
    readonly agentClientKey: string;
    readonly serviceAccountKey: string;
    readonly serviceAccountPublic: string;
    /**
     * The CA that aggregated servers trust for the user's identity, and the client certificate it issued for the
     * server.
     */
    readonly proxyCa: string;
    readonly proxyClient: string;
    readonly proxyClientKey: string;
  };
}

/** Where keys and certificates are written. */
type Disk = Pick<Files, 'write'>;

/** The mode of a file that only this user can read. */
const privately = 0o600;

const existing = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
};

const made = (directory: string): void => {
  try {
    makeFolder(directory);
  } catch (cause) {
    throw new Error(`--data-dir: cannot make ${directory}: ${(cause as Error).message}`, {cause});
  }
};

/**
 * Returns the keys and certificates of a plane in `directory`; creates missing ones and renews those close to expiry.
 */
export const planeMaterial = async (
  directory: string,
  clock: Clock,
  log: Log = noLog,
  disk: Disk = systemFiles,
): Promise<PlaneMaterial> => {
  made(directory);
  warnOfSharedFolder(directory, log);
  const file = (name: string) => join(directory, name);
  const files = {
    ca: file('ca.crt'),
    caKey: file('ca.key'),
    legacyCa: file('legacy-unknown-ca.crt'),
    legacyCaKey: file('legacy-unknown-ca.key'),
    admin: file('admin.crt'),
    adminKey: file('admin.key'),
    agentClient: file('apiserver-platlet-client.crt'),
    agentClientKey: file('apiserver-platlet-client.key'),
    serviceAccountKey: file('sa.key'),
    serviceAccountPublic: file('sa.pub'),
    proxyCa: file('front-proxy-ca.crt'),
    proxyClient: file('front-proxy-client.crt'),
    proxyClientKey: file('front-proxy-client.key'),
  };
  // Those of one step do not depend on each other, and wait for the disk together.
  const making = {clock, log, disk, isInUse: existing(files.admin) !== undefined};
  const [authority, proxyAuthority] = await Promise.all([
    authorityIn(files.ca, files.caKey, 'plat-ca', making),
    authorityIn(files.proxyCa, file('front-proxy-ca.key'), 'plat-front-proxy-ca', making),
    authorityIn(files.legacyCa, files.legacyCaKey, 'plat-legacy-unknown-ca', making),
    ensureServiceAccountKey(files.serviceAccountKey, files.serviceAccountPublic, disk),
  ]);
  const client = (
    certificateFile: string,
    keyFile: string,
    by: Authority,
    subject: {commonName: string; organizations?: readonly string[]},
  ) => ensurePair(certificateFile, keyFile, {clock, disk}, now => issueClientCertificate(by, {now, ...subject, lifetimeMs: 365 * day}));
  const masters = ['system:masters'];
  await Promise.all([
    client(files.admin, files.adminKey, authority, {commonName: 'plat-admin', organizations: masters}),
    client(files.agentClient, files.agentClientKey, authority, {commonName: 'plat-apiserver-platlet-client', organizations: masters}),
    client(files.proxyClient, files.proxyClientKey, proxyAuthority, {commonName: proxyClientName}),
  ]);
  return {authority, files};
};

/**
 * Returns the serving certificate in `directory` for servers on this machine. It is valid as long as the CA, since such
 * servers may use another clock than the plane.
 */
export const localServingPair = async (
  directory: string,
  {authority, files}: PlaneMaterial,
  clock: Clock,
  disk: Disk = systemFiles,
): Promise<ServingPair> => {
  made(directory);
  const [certificate, key] = [join(directory, 'tls.crt'), join(directory, 'tls.key')];
  const lifetimeMs = authority.certificate.notAfter - clock.now();
  await ensurePair(certificate, key, {clock, disk}, now =>
    issueServingCertificate(authority, {now, lifetimeMs, commonName: 'localhost', hosts: ['localhost', '127.0.0.1', '::1']}),
  );
  return {
    directory,
    folder: directory,
    certificate: readFileSync(certificate, 'utf8'),
    key: readFileSync(key, 'utf8'),
    caBundle: readFileSync(files.ca).toString('base64'),
  };
};

/** What authorities are created with. */
interface Making {
  readonly clock: Clock;
  readonly log: Log;
  readonly disk: Disk;
  /**
   * Whether the authorities have issued certificates: a start that was cut off before may have left a key without its
   * certificate.
   */
  readonly isInUse: boolean;
}

/**
 * The error of a file that is missing while its other half is there. Nobody else can make it again, and a new one would
 * void what the old one has issued.
 */
const halfMissing = (missing: string, there: string): Error =>
  new Error(
    `${missing} is missing or empty, and ${there} is there: put it back from a backup, or remove the folder ${dirname(missing)} to begin with new keys, which voids all certificates, tokens and kubeconfigs of before`,
  );

/**
 * Returns the authority in two files; creates a missing one, and refuses to replace one of which a half is missing. One
 * that is not valid at present, because the clock was wrong when it was created, gets a new certificate for its key:
 * what it has issued stays valid.
 */
const authorityIn = async (
  certificateFile: string,
  keyFile: string,
  commonName: string,
  {clock, log, disk, isInUse}: Making,
): Promise<Authority> => {
  const certificate = existing(certificateFile);
  const key = existing(keyFile);
  if (certificate !== undefined && !key) throw halfMissing(keyFile, certificateFile);
  if (key !== undefined && !certificate && isInUse) throw halfMissing(certificateFile, keyFile);
  const now = clock.now();
  const known =
    certificate && key ? namingFiles([certificateFile, keyFile], () => loadAuthority(certificateFile, certificate, key)) : undefined;
  if (known && isValidAt(known.certificate, now)) return known;
  if (known)
    log.warn(
      {file: certificateFile, notBefore: formatGoTime(known.certificate.notBefore), notAfter: formatGoTime(known.certificate.notAfter)},
      'the CA is not valid at the present time: it gets a new certificate',
    );
  const authority = createAuthority(known?.key ?? (await generatePrivateKey()), {commonName, now});
  const pem = authorityPem(authority);
  await disk.write(keyFile, pem.key, privately);
  await disk.write(certificateFile, pem.certificate, privately);
  return authority;
};

/** Names the files of a failure to read them. */
const namingFiles = <T>(files: readonly string[], read: () => T): T => {
  try {
    return read();
  } catch (cause) {
    throw new Error(`${files.join(' and ')}: ${messageOf(cause)}`, {cause});
  }
};

/** Ensures that a certificate and key exist in two files, and renews them if one is missing or close to expiry. */
const ensurePair = async (
  certificateFile: string,
  keyFile: string,
  {clock, disk}: {readonly clock: Clock; readonly disk: Disk},
  issue: (now: number) => Promise<KeyPair>,
): Promise<void> => {
  const pem = existing(certificateFile);
  if (pem && existing(keyFile) && stillFresh(pem, clock.now())) return;
  const pair = keyPairPem(await issue(clock.now()));
  await disk.write(keyFile, pair.key, privately);
  await disk.write(certificateFile, pair.certificate, privately);
};

/** Whether a certificate need not be renewed; a damaged one must. */
const stillFresh = (pem: string, now: number): boolean => {
  const certificate = readable(pem);
  if (!certificate) return false;
  const {notBefore, notAfter} = certificate;
  return isValidAt(certificate, now) && notAfter - now > (notAfter - notBefore) * renewAt;
};

const readable = (pem: string): Certificate | undefined => {
  try {
    const block = firstPemBlock(pem);
    return block && parseCertificate(block.bytes);
  } catch {
    return undefined;
  }
};

const isValidAt = ({notBefore, notAfter}: Pick<Certificate, 'notBefore' | 'notAfter'>, now: number): boolean =>
  notBefore <= now && now <= notAfter;

const ensureServiceAccountKey = async (keyFile: string, publicFile: string, disk: Disk): Promise<void> => {
  const pem = existing(keyFile);
  if (!pem && existing(publicFile) !== undefined) throw halfMissing(keyFile, publicFile);
  const key = pem ? namingFiles([keyFile], () => parsePrivateKey(pem)) : await generatePrivateKey();
  if (!pem) await disk.write(keyFile, privateKeyPem(key), privately);
  if (!existing(publicFile)) await disk.write(publicFile, publicKeyPem(key), privately);
};
