import type {Clock} from '#src/base/clock.js';
import {type Files, followFiles} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import {parseCertificateBundle} from '#src/pki/certificate.js';
import {type TrustAnchors, trustAnchors} from '#src/pki/chain.js';

export interface AuthorityFileOptions {
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
  /** Ends the following of the file. */
  readonly signal: AbortSignal;
  /** The flag that names the file, for messages. */
  readonly flag: string;
}

/**
 * The current CAs of a file. Invalid content is ignored: the last valid one remains in use. Rejects with an error of
 * one line when the first read fails.
 */
export const followAuthorities = (path: string, options: AuthorityFileOptions): Promise<{readonly current: TrustAnchors}> =>
  followTrust(path, options, anchors => anchors);

/** What `made` returns for the current CAs of a file; the same value while they are the same. */
export const followTrust = async <T>(
  path: string,
  {files, clock, log, signal, flag}: AuthorityFileOptions,
  made: (authorities: TrustAnchors) => T,
): Promise<{readonly current: T}> => {
  const read = async (): Promise<{readonly pem: Buffer; readonly current: T}> => {
    const pem = await files.read(path);
    if (!pem) throw new Error('no such file or directory');
    return {pem, current: made(trustAnchors(parseCertificateBundle(pem)))};
  };
  const held = await read().catch((cause: Error) => {
    throw new Error(`${flag}: ${path}: ${cause.message}`, {cause});
  });
  const check = async () => {
    try {
      const fresh = await read();
      // The object is kept while nothing changed, since verifications are cached by it.
      if (!fresh.pem.equals(held.pem)) Object.assign(held, fresh);
    } catch (error) {
      log.warn({file: path, err: error}, 'keeping the certificate authorities in use: the file does not hold any');
    }
  };
  followFiles({files, clock, paths: [path], signal, check});
  return held;
};
