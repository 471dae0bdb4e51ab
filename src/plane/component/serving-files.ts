import {hostname} from 'node:os';
import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import {warnOfSharedFolder, type Files} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import {ensureOwnPair, renewOwnPair} from '#src/serving/certificates/own-pair.js';
import {ServingCertificates} from '#src/serving/certificates/serving-certificates.js';

/** The options of a component's serving certificates. */
export type ServingOptions = Pick<
  ApiserverOptions,
  'tlsCertFile' | 'tlsPrivateKeyFile' | 'tlsSniCertKey' | 'certDir' | 'tlsMinVersion' | 'tlsCipherSuites' | 'bindAddress'
>;

export interface ServingFiles {
  readonly options: ServingOptions;
  readonly naming: Naming;
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
  /** The base name of the files of a self-signed certificate. */
  readonly name: string;
  /**
   * Names and addresses of a self-signed certificate, besides those of this host; by default those of the self service.
   */
  readonly hosts?: readonly string[];
  readonly signal: AbortSignal;
}

/** Opens a component's serving certificates: the configured ones, or a self-signed one in the certificate directory. */
export const openServingCertificates = async ({
  options,
  naming,
  name,
  hosts = naming.selfServiceNames,
  signal,
  ...ports
}: ServingFiles): Promise<ServingCertificates> => {
  const {tlsCertFile, tlsPrivateKeyFile, certDir} = options;
  const own = {...ports, folder: certDir, name, host: hostname(), hosts: ['localhost', '127.0.0.1', '::1', ...hosts]};
  const pair = tlsCertFile ? {certFile: tlsCertFile, keyFile: tlsPrivateKeyFile} : await ensured(own, certDir);
  if (!tlsCertFile) {
    warnOfSharedFolder(certDir, ports.log);
    renewOwnPair(own, ports.log, signal);
  }
  return ServingCertificates.load({
    ...ports,
    pair,
    named: options.tlsSniCertKey,
    limits: {minVersion: options.tlsMinVersion, cipherSuites: options.tlsCipherSuites},
  });
};

const ensured = async (own: Parameters<typeof ensureOwnPair>[0], folder: string) => {
  try {
    return await ensureOwnPair(own);
  } catch (cause) {
    throw new Error(`--cert-dir ${folder}: ${(cause as Error).message}`, {cause});
  }
};
