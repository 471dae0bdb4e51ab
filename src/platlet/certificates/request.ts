// Requests certificates from an API server: creates a CertificateSigningRequest or finds an earlier one, and waits
// until it is issued.

import {createHash, type KeyObject} from 'node:crypto';
import {InformerFactory, type InformerFactoryOptions} from '#informers/factory.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Frozen} from '#src/api/key.js';
import {isAlreadyExists} from '#src/api/status.js';
import type {CertificateSigningRequest} from '#src/api/types.js';
import {messageOf} from '#src/base/message.js';
import {noMeter} from '#src/base/meter.js';
import {firstOf} from '#src/base/signals.js';
import type {Client} from '#src/client/client.js';
import {parseCertificateBundle} from '#src/pki/certificate.js';
import {formatGoTime} from '#src/pki/encoding/times.js';
import {publicKeyDer} from '#src/pki/keys/keys.js';
import {checkRequestSignature, createSigningRequest, parseSigningRequest} from '#src/pki/signing-request.js';
import type {CertificateTemplate} from './template.js';

/** The key usage of a certificate. */
export type CertificateUse = 'client auth' | 'server auth';

export interface CertificateOrder {
  readonly key: KeyObject;
  readonly template: CertificateTemplate;
  readonly signerName: string;
  readonly use: CertificateUse;
  /** The name of the request; absent: the server generates one. */
  readonly name?: string;
}

/** A request that was created or found. */
export interface SentRequest {
  readonly name: string;
  readonly uid: string;
}

const usagesOf = ({key, use}: CertificateOrder): string[] => [
  'digital signature',
  ...(key.asymmetricKeyType === 'rsa' ? ['key encipherment'] : []),
  use,
];

/**
 * Returns the name of the request for a key and a template. It is stable, so that the same key finds its request after
 * a restart.
 */
export const requestName = (key: KeyObject, {subject}: CertificateTemplate): string => {
  const hash = createHash('sha512-256');
  const usages = ['digital signature', 'client auth', ...(key.asymmetricKeyType === 'rsa' ? ['key encipherment'] : [])];
  for (const part of [publicKeyDer(key), subject.commonName, ...subject.organizations, ...usages])
    hash.update(`${Buffer.from(part).toString('base64url')}|`);
  return `node-csr-${hash.digest('base64url')}`;
};

/** Creates a request, or finds an earlier one of the same name for the same certificate. */
export const sendRequest = async (client: Client, order: CertificateOrder, now: number, signal: AbortSignal): Promise<SentRequest> => {
  const requests = client.resource(kinds.certificateSigningRequests);
  const {template, signerName, name} = order;
  const request = createSigningRequest(order.key, template);
  const wanted = {
    metadata: name === undefined ? {generateName: 'csr-'} : {name},
    spec: {request: Buffer.from(request).toString('base64'), signerName, usages: usagesOf(order)},
  };
  try {
    return sentOf(await requests.create(wanted, {signal}));
  } catch (error) {
    if (name === undefined || !isAlreadyExists(error)) throw error;
  }
  const found = await requests.get(name, {signal});
  const problem = incompatibility(found, request, signerName, now);
  if (problem !== undefined) throw new Error(`retrieved csr is not compatible: ${problem}`);
  return sentOf(found);
};

const sentOf = ({metadata}: CertificateSigningRequest): SentRequest => ({name: metadata?.name ?? '', uid: metadata?.uid ?? ''});

const decoded = (text = ''): string => Buffer.from(text, 'base64').toString();

/** Returns how a request differs from the wanted one; undefined if it does not. */
const incompatibility = (
  {spec, status}: CertificateSigningRequest,
  request: string,
  signerName: string,
  now: number,
): string | undefined => {
  if (spec?.signerName !== signerName)
    return `csr signerNames differ: new ${JSON.stringify(signerName)}, old ${JSON.stringify(spec?.signerName)}`;
  const own = parseSigningRequest(request);
  try {
    const old = parseSigningRequest(decoded(spec.request));
    if (!old.subject.raw.equals(own.subject.raw)) return 'csr subjects differ';
    if (!old.publicKeyInfo.equals(own.publicKeyInfo)) return 'csr public keys differ';
    checkRequestSignature(old);
    const expired = status?.certificate
      ? parseCertificateBundle(decoded(status.certificate)).find(({notAfter}) => now > notAfter)
      : undefined;
    return expired && `one of the certificates in the csr has expired: ${formatGoTime(expired.notAfter)}`;
  } catch (error) {
    return messageOf(error);
  }
};

type WaitParts = Pick<InformerFactoryOptions, 'client' | 'clock' | 'random' | 'log' | 'signal'>;

/**
 * Resolves to the certificate of a request once it is approved and issued. Rejects if it is denied, failed or deleted,
 * or the signal aborts.
 */
export const issuedCertificate = async (parts: WaitParts, sent: SentRequest): Promise<string> => {
  const stopping = new AbortController();
  const {client, clock, random, log} = parts;
  using ending = firstOf(parts.signal, stopping.signal);
  const {signal} = ending;
  // No metrics: each informer is a series, and requests would be too many.
  const informers = new InformerFactory({client, clock, random, log, meter: noMeter, minResyncMs: 0, signal});
  const informer = informers.informer({kind: kinds.certificateSigningRequests, fieldSelector: `metadata.name=${sent.name}`});
  try {
    return await new Promise<string>((resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('timed out waiting for the certificate', {cause: parts.signal.reason})), {
        once: true,
      });
      const gone = (): void => reject(new Error(`csr ${JSON.stringify(sent.name)} was deleted`));
      informer.listen(({type, object}) => {
        if (type === 'deleted') return gone();
        try {
          const certificate = certificateIn(object, sent, parts);
          if (certificate !== undefined) resolve(certificate);
        } catch (error) {
          reject(error as Error);
        }
      });
      informers.start();
      informer.whenSynced(signal).then(() => {
        if (!informer.lister.get(sent.name)) gone();
      }, reject);
    });
  } finally {
    stopping.abort();
  }
};

const certificateIn = (
  {metadata, status}: Frozen<CertificateSigningRequest>,
  {name, uid}: SentRequest,
  {log}: Pick<WaitParts, 'log'>,
): string | undefined => {
  if (metadata?.uid !== uid) throw new Error(`csr ${JSON.stringify(name)} changed UIDs`);
  const {conditions = [], certificate} = status ?? {};
  for (const {type, reason, message} of conditions) {
    if (type === 'Denied') throw new Error(`certificate signing request is denied, reason: ${reason ?? ''}, message: ${message ?? ''}`);
    if (type === 'Failed') throw new Error(`certificate signing request failed, reason: ${reason ?? ''}, message: ${message ?? ''}`);
  }
  if (!conditions.some(({type}) => type === 'Approved')) return undefined;
  log
    .v(2)
    .info(
      {csr: name},
      certificate ? 'certificate signing request is issued' : 'certificate signing request is approved, waiting to be issued',
    );
  return certificate ? decoded(certificate) : undefined;
};
