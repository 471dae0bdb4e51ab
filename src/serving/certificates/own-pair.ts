import {join} from 'node:path';
import {every, type Clock} from '#src/base/clock.js';
import type {Files} from '#src/base/files.js';
import type {Log} from '#src/base/log.js';
import {withMessagePrefix} from '#src/pki/encoding/error.js';
import {createSelfSignedServing, keyPairPem} from '#src/pki/issuing.js';
import {parseKeyPair} from '#src/pki/key-pair.js';

/** Where a pair lies. */
export interface PairFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** What a server that was given no certificate serves with. */
export interface OwnPairOptions {
  readonly files: Files;
  readonly clock: Clock;
  readonly folder: string;
  /** The files are called this, with .crt and .key after it. */
  readonly name: string;
  readonly host: string;
  /** Further names and addresses the certificate is good for. */
  readonly hosts: readonly string[];
}

/** The name every authority has that is made for a pair of our own. */
const ownIssuer = /-ca@\d+$/;

const renewBeforeMs = 30 * 86_400_000;

const isOverdue = (paths: PairFiles, certificate: Buffer, key: Buffer, now: number): boolean => {
  const [leaf] = withMessagePrefix(`cannot serve with ${paths.certFile} and ${paths.keyFile}`, () => parseKeyPair(certificate, key).chain);
  return ownIssuer.test(leaf.issuer.commonName) && leaf.notAfter - now < renewBeforeMs;
};

/**
 * Makes sure that a pair lies in the certificate folder: one that is there is kept, unless it is self-made and expires within thirty days; else a
 * self-signed one is written, valid a year. Half a pair is refused.
 */
export const ensureOwnPair = async ({files, clock, folder, name, host, hosts}: OwnPairOptions): Promise<PairFiles> => {
  const paths = {certFile: join(folder, `${name}.crt`), keyFile: join(folder, `${name}.key`)};
  const [certificate, key] = await Promise.all([files.read(paths.certFile), files.read(paths.keyFile)]);
  if (!certificate !== !key) throw new Error(`error reading ${certificate ? paths.keyFile : paths.certFile}, certificate and key must be supplied as a pair`);
  if (certificate && key && !isOverdue(paths, certificate, key, clock.now())) return paths;

  const pair = keyPairPem(await createSelfSignedServing({host, hosts, now: clock.now()}));
  await files.write(paths.keyFile, pair.key, 0o600);
  await files.write(paths.certFile, pair.certificate, 0o600);
  return paths;
};

/** Looks after a pair of our own twice a day until the signal aborts, so that a server that runs for long never serves an expired one. */
export const keepOwnPair = (options: OwnPairOptions, log: Log, signal: AbortSignal): void =>
  every(options.clock, 12 * 3_600_000, signal, async () => {
    const hold = options.clock.hold();
    try {
      await ensureOwnPair(options);
    } catch (error) {
      log.error({err: error}, 'cannot renew the self-signed serving certificate');
    } finally {
      hold[Symbol.dispose]();
    }
  });
