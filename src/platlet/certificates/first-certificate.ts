// The first certificate of an agent without rotation. The key is stored until the certificate is issued, so that a
// restart resumes the same request.

import {join} from 'node:path';
import type {InformerFactoryOptions} from '#informers/factory.js';
import {StatusError} from '#src/api/status.js';
import type {Clock} from '#src/base/clock.js';
import type {Files} from '#src/base/files/files.js';
import {firstOf} from '#src/base/signals.js';
import {generatePrivateKey, parsePrivateKey, privateKeyPem} from '#src/pki/keys/keys.js';
import type {Host} from '#src/platlet/host/host.js';
import type {PairStore, StoredPair} from './pair-store.js';
import {issuedCertificate, requestName, sendRequest} from './request.js';
import {clientTemplate} from './template.js';

export interface FirstCertificateParts extends Pick<InformerFactoryOptions, 'client' | 'random' | 'log' | 'signal'> {
  readonly store: PairStore;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly files: Pick<Files, 'read' | 'write'>;
  readonly host: Pick<Host, 'removeFile'>;
  /** The certificate directory, in which the key is stored meanwhile. */
  readonly folder: string;
}

const waitMs = 3_600_000;

/**
 * Requests the client certificate of a node and waits up to an hour for it. Rejects if the request is refused, denied
 * or times out.
 */
export const requestFirstCertificate = async (parts: FirstCertificateParts): Promise<StoredPair> => {
  const {client, clock, random, host, folder, log, nodeName, signal, store} = parts;
  const {naming} = client;
  const keyFile = join(folder, `${naming.agent}-client.key.tmp`);
  const key = await keyIn(parts, keyFile);
  const template = clientTemplate(nodeName);
  const name = requestName(key, template);
  const order = {key, template, name, use: 'client auth', signerName: naming.signers.apiserverClientAgent} as const;
  const sent = await sendRequest(client, order, clock.now(), signal).catch((cause: unknown) => {
    if (!(cause instanceof StatusError)) throw cause;
    throw new Error(`cannot create certificate signing request: ${cause.message}`, {cause});
  });
  log.info({csr: name}, 'waiting for the client certificate to be issued');
  const late = new AbortController();
  using limits = firstOf(signal, late.signal);
  using _ = clock.schedule(waitMs, () => late.abort());
  const certificate = await issuedCertificate({client, clock, random, log, signal: limits.signal}, sent);
  const result = await store.update({certificate, key: privateKeyPem(key)});
  await host.removeFile(keyFile);
  return result;
};

/** Returns the key of the existing certificate, the stored key of a pending request, or a new key, which it stores. */
const keyIn = async ({store, files}: FirstCertificateParts, file: string): Promise<ReturnType<typeof parsePrivateKey>> => {
  const before = await store.current().catch(() => undefined);
  if (before) return parsePrivateKey(before.key);
  const waiting = await files.read(file);
  if (waiting) return parsePrivateKey(waiting);
  const key = await generatePrivateKey();
  await files.write(file, privateKeyPem(key), 0o600);
  return key;
};
