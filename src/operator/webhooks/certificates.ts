// The serving certificate of webhooks: read from a directory that others maintain, or issued, rotated and stored in a
// Secret shared by all replicas.

import {join} from 'node:path';
import {kinds} from '#src/api/kinds/index.js';
import {isAlreadyExists, isConflict, isNotFound} from '#src/api/status.js';
import type {ObjectMeta} from '#src/api/types.js';
import {runEvery, type Clock} from '#src/base/clock.js';
import {contentOf, followFiles, systemFiles} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import type {Client} from '#src/client/client.js';
import {parseKeyPair} from '#src/pki/key-pair.js';
import {renewedMaterial, type Material} from './material.js';
import type {ReadCounts} from './metrics.js';

/** The source of the certificate. */
export type CertificateSource =
  /**
   * `tls.crt`, `tls.key` and optionally `ca.crt` in a directory: a mounted Secret, or written by a plane
   * (`plane.webhookPair()`).
   */
  | {readonly folder: string}
  /** A Secret that the manager creates and rotates; all replicas use it. */
  | {readonly secret: string; readonly namespace: string};

/** A certificate and its key in PEM, and the CAs that callers have to trust, if known. */
export interface ServingMaterial {
  readonly certificate: string;
  readonly key: string;
  readonly authorities: string | undefined;
}

export interface CertificateParts {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly counts: ReadCounts;
  /** The DNS names and addresses of a certificate in a Secret. */
  readonly hosts: readonly string[];
  readonly signal: AbortSignal;
}

/** A certificate that is kept up to date until the signal aborts. */
export interface FollowedCertificate {
  current(): ServingMaterial;
  /** Calls `listener` after each change, until the returned handle is disposed of. */
  onChange(listener: () => void): Disposable;
}

/** How often a Secret is read again, to rotate the certificate or to use one rotated by another replica. */
const periodMs = 60_000;

/** The delay before a write that conflicted with another replica is retried. */
const maxTries = 5;

/**
 * Reads the certificate of a source and keeps it up to date. Rejects with an error that names the directory or the
 * Secret.
 */
export const followCertificate = async (source: CertificateSource, parts: CertificateParts): Promise<FollowedCertificate> => {
  const {clock, log, counts, signal} = parts;
  const isFolder = 'folder' in source;
  const place = isFolder ? source.folder : `the secret ${source.namespace}/${source.secret}`;
  const read = isFolder ? () => readFolder(source.folder) : () => readSecret(source, parts);
  const counted = async (): Promise<ServingMaterial> => {
    counts.read();
    try {
      return await read();
    } catch (error) {
      counts.failed();
      throw error;
    }
  };
  let material = await counted().catch((cause: unknown) => {
    throw new Error(`webhooks: no certificate from ${place}: ${messageOf(cause)}`, {cause});
  });
  const listeners = new Set<() => void>();
  const check = async (): Promise<void> => {
    using _ = clock.hold();
    try {
      const next = await counted();
      const {certificate, key, authorities} = material;
      if (next.certificate === certificate && next.key === key && next.authorities === authorities) return;
      material = next;
      log.info({place}, 'reloaded the certificate of the webhooks');
      for (const listener of listeners) listener();
    } catch (error) {
      if (!signal.aborted) log.error({place, err: error}, 'failed to reload the certificate of the webhooks, keeping the current one');
    }
  };
  if (isFolder) {
    const paths = [fileNames.certificate, fileNames.key, fileNames.authorities].map(name => join(source.folder, name));
    followFiles({files: systemFiles, clock, paths, signal, check});
  } else runEvery(clock, periodMs, signal, check);
  return {current: () => material, onChange: listener => added(listeners, listener)};
};

const added = (listeners: Set<() => void>, listener: () => void): Disposable => {
  const own = () => listener();
  listeners.add(own);
  return {[Symbol.dispose]: () => void listeners.delete(own)};
};

/** The file names and the keys of a Secret. */
const fileNames = {certificate: 'tls.crt', key: 'tls.key', authorities: 'ca.crt', authorityKey: 'ca.key'} as const;

const readFolder = async (folder: string): Promise<ServingMaterial> => {
  const text = async (name: string) => (await contentOf(systemFiles, join(folder, name))).toString();
  const [certificate, key] = [await text(fileNames.certificate), await text(fileNames.key)];
  parseKeyPair(certificate, key); // Throws if they do not match, for example when only one of them has been replaced yet.
  return {certificate, key, authorities: (await systemFiles.read(join(folder, fileNames.authorities)))?.toString()};
};

const encoded = (text: string): string => Buffer.from(text).toString('base64');
const decoded = (text = ''): string => Buffer.from(text, 'base64').toString();

/**
 * Reads the certificate in a Secret. Writes the Secret first if the certificate is missing, incomplete or due for
 * rotation.
 */
const readSecret = async (
  {secret: name, namespace}: Extract<CertificateSource, {secret: string}>,
  {client, clock, hosts, signal}: CertificateParts,
): Promise<ServingMaterial> => {
  const secrets = client.resource(kinds.secrets);
  for (let tries = 1; ; tries++) {
    const found = await secrets.get(name, {namespace, signal}).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    const data = found?.data ?? {};
    const present: Material = {
      certificate: decoded(data[fileNames.certificate]),
      key: decoded(data[fileNames.key]),
      authorities: decoded(data[fileNames.authorities]),
      authorityKey: decoded(data[fileNames.authorityKey]),
    };
    const next = await renewedMaterial(present, {hosts, commonName: `${namespace}/${name}`, now: clock.now()});
    if (!next) return present;
    const values = Object.fromEntries(
      (Object.keys(fileNames) as (keyof typeof fileNames)[]).map(field => [fileNames[field], encoded(next[field])]),
    );
    try {
      if (found) await secrets.update({...found, data: {...data, ...values}}, {signal});
      else await secrets.create({metadata: {name, namespace} satisfies ObjectMeta, data: values}, {signal});
      return next;
    } catch (error) {
      // Another replica was first: use its certificate.
      if (tries === maxTries || !(isConflict(error) || isAlreadyExists(error))) throw error;
    }
  }
};
