import {join} from 'node:path';
import {runEvery, type Clock} from '#src/base/clock.js';
import type {Files} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import {withMessagePrefix} from '#src/pki/encoding/error.js';
import {createSelfSignedServing, keyPairPem} from '#src/pki/issuing.js';
import {checkKeyPair} from '#src/pki/key-pair.js';

/** The files of a certificate and key. */
export interface PairFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** The self-signed certificate of a server without a configured one. */
export interface OwnPairOptions {
  readonly files: Files;
  readonly clock: Clock;
  readonly folder: string;
  /** The base name of the files `.crt` and `.key`. */
  readonly name: string;
  readonly host: string;
  /** Additional names and addresses of the certificate. */
  readonly hosts: readonly string[];
}

/** The name of the CAs that are created for self-signed certificates. */
const ownIssuer = /-ca@\d+$/;

const renewBeforeMs = 30 * 86_400_000;

const isOverdue = (paths: PairFiles, certificate: Buffer, key: Buffer, now: number): boolean => {
  const [leaf] = withMessagePrefix(`cannot serve with ${paths.certFile} and ${paths.keyFile}`, () => checkKeyPair(certificate, key));
  return ownIssuer.test(leaf.issuer.commonName) && (leaf.notAfter - now < renewBeforeMs || leaf.notBefore > now);
};

/**
 * Ensures that the directory has a certificate and key: existing ones are kept, unless they are self-signed and expire
 * within thirty days or are not valid yet; otherwise self-signed ones are written, valid for a year. Throws if only one
 * of the two files exists.
 */
export const ensureOwnPair = async ({files, clock, folder, name, host, hosts}: OwnPairOptions): Promise<PairFiles> => {
  const paths = {certFile: join(folder, `${name}.crt`), keyFile: join(folder, `${name}.key`)};
  const [certificate, key] = await Promise.all([files.read(paths.certFile), files.read(paths.keyFile)]);
  if (!certificate !== !key)
    throw new Error(`error reading ${certificate ? paths.keyFile : paths.certFile}, certificate and key must be supplied as a pair`);
  if (certificate && key && !isOverdue(paths, certificate, key, clock.now())) return paths;

  const pair = keyPairPem(await createSelfSignedServing({host, hosts, now: clock.now()}));
  await files.write(paths.keyFile, pair.key, 0o600);
  await files.write(paths.certFile, pair.certificate, 0o600);
  return paths;
};

/**
 * Checks the self-signed certificate twice a day until the signal aborts, so that a long-running server never serves an
 * expired one.
 */
export const renewOwnPair = (options: OwnPairOptions, log: Log, signal: AbortSignal): void =>
  runEvery(options.clock, 12 * 3_600_000, signal, async () => {
    const hold = options.clock.hold();
    try {
      await ensureOwnPair(options);
    } catch (error) {
      log.error({err: error}, 'cannot renew the self-signed serving certificate');
    } finally {
      hold[Symbol.dispose]();
    }
  });
