// The certificate directory of an agent: one file per certificate with its key, and a symbolic link to the current one,
// which is replaced atomically.

import {join} from 'node:path';
import type {Clock} from '#src/base/clock.js';
import type {Files} from '#src/base/files/files.js';
import type {Certificate} from '#src/pki/certificate.js';
import {withMessagePrefix} from '#src/pki/encoding/error.js';
import {parseKeyPair, type KeyPairPem} from '#src/pki/key-pair.js';
import type {Host} from '#src/platlet/host/host.js';

/** A certificate with its key in PEM, as they are kept. */
export interface StoredPair extends KeyPairPem {
  readonly leaf: Certificate;
}

export interface PairStoreParts {
  readonly files: Pick<Files, 'read' | 'write'>;
  readonly host: Pick<Host, 'link' | 'linkStatus' | 'rename' | 'removeFile'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly folder: string;
  /** The prefix of the file names. */
  readonly prefix: string;
  /** Certificate and key files to use while the directory has none. */
  readonly configured?: {readonly certFile: string; readonly keyFile: string} | undefined;
}

/** Formats a time as in the file names. */
const fileTime = (now: number): string => new Date(now).toISOString().slice(0, 19).replaceAll(/[T:]/g, '-');

export class PairStore {
  readonly #parts: PairStoreParts;

  constructor(parts: PairStoreParts) {
    this.#parts = parts;
  }

  /** The link to the current file. */
  get currentPath(): string {
    return this.#path('current.pem');
  }

  /**
   * Returns the current certificate; undefined if there is none. Rejects with the names of the files if they cannot be
   * used.
   */
  async current(): Promise<StoredPair | undefined> {
    const {configured, folder, prefix} = this.#parts;
    await this.#finishSwitch();
    const places = [
      {certFile: this.currentPath, keyFile: this.currentPath},
      ...(configured ? [configured] : []),
      {certFile: join(folder, `${prefix}.crt`), keyFile: join(folder, `${prefix}.key`)},
    ];
    for (const {certFile, keyFile} of places) {
      const [certificate, key] = await Promise.all([this.#parts.files.read(certFile), this.#parts.files.read(keyFile)]);
      if (!certificate || !key) continue;
      const what = `could not convert data from ${JSON.stringify(certFile)}${certFile === keyFile ? '' : ` and ${JSON.stringify(keyFile)}`} into cert/key pair`;
      return withMessagePrefix(what, () => stored({certificate: certificate.toString(), key: key.toString()}));
    }
    return undefined;
  }

  /** Stores a certificate and makes it the current one. Rejects if it does not match its key. */
  async update(pair: KeyPairPem): Promise<StoredPair> {
    const {files, host, clock} = this.#parts;
    const result = stored(pair);
    const path = this.#path(`${fileTime(clock.now())}.pem`);
    await files.write(path, pair.certificate + pair.key, 0o600);
    await host.removeFile(this.#updatedPath);
    await host.link(path, this.#updatedPath);
    await host.rename(this.#updatedPath, this.currentPath);
    return result;
  }

  get #updatedPath(): string {
    return this.#path('updated.pem');
  }

  #path(name: string): string {
    const {folder, prefix} = this.#parts;
    return join(folder, `${prefix}-${name}`);
  }

  /** Completes a replacement of the link that was interrupted between its two steps. */
  async #finishSwitch(): Promise<void> {
    const {host} = this.#parts;
    if (await host.linkStatus(this.currentPath)) return;
    const updated = await host.linkStatus(this.#updatedPath);
    if (!updated) return;
    if (updated.kind !== 'link') throw new Error(`expected ${JSON.stringify(this.#updatedPath)} to be a symlink but it is a file`);
    await host.rename(this.#updatedPath, this.currentPath);
  }
}

const stored = ({certificate, key}: KeyPairPem): StoredPair => ({certificate, key, leaf: parseKeyPair(certificate, key).chain[0]});
