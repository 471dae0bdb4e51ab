// The serving certificates of a port, by server name, reloaded when their files change. A certificate that does not
// match its key is never served.

import {createSecureContext, type SecureContext, type SecureContextOptions, type TlsOptions} from 'node:tls';
import type {Clock} from '#src/base/clock.js';
import {followFiles, type Files} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import type {Certificate} from '#src/pki/certificate.js';
import {checkKeyPair} from '#src/pki/key-pair.js';
import {messageOf} from '#src/base/message.js';
import {NameTable} from './names.js';
import type {PairFiles} from './own-pair.js';
import {secureLimits, type TlsLimits} from './tls-limits.js';

/** A certificate for certain names. Without patterns, the names in the certificate apply. */
export interface NamedPairFiles extends PairFiles {
  readonly patterns: readonly string[];
}

export interface ServingCertificatesOptions {
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
  readonly pair: PairFiles;
  readonly named?: readonly NamedPairFiles[];
  readonly limits?: TlsLimits;
}

/** A certificate and key as last successfully read. */
interface LoadedPair {
  readonly certificate: Buffer;
  readonly key: Buffer;
  readonly leaf: Certificate;
  readonly context: SecureContext;
}

type Limits = ReturnType<typeof secureLimits>;

const readPair = async (files: Files, {certFile, keyFile}: PairFiles): Promise<{certificate: Buffer; key: Buffer}> => {
  const [certificate, key] = await Promise.all([files.read(certFile), files.read(keyFile)]);
  if (!certificate) throw new Error(`open ${certFile}: no such file or directory`);
  if (!key) throw new Error(`open ${keyFile}: no such file or directory`);
  if (certificate.length === 0 || key.length === 0) throw new Error(`missing content for serving cert "${certFile}"`);
  return {certificate, key};
};

const loadPair = async (files: Files, pair: PairFiles, limits: Limits, before?: LoadedPair): Promise<LoadedPair> => {
  const {certificate, key} = await readPair(files, pair);
  if (before && certificate.equals(before.certificate) && key.equals(before.key)) return before;
  const [leaf] = checkKeyPair(certificate, key);
  return {certificate, key, leaf, context: createSecureContext({cert: certificate, key, ...limits})};
};

const failure = ({certFile, keyFile}: PairFiles, error: unknown): Error =>
  new Error(`cannot serve with the certificate ${certFile} and the key ${keyFile}: ${messageOf(error)}`, {cause: error});

/**
 * The certificates of a server: a default one and ones for certain names, read from files and reloaded when these
 * change. A certificate that does not match its key, for example when only one of the files was replaced so far, is
 * ignored: the last one remains in use.
 */
export class ServingCertificates {
  readonly #options: ServingCertificatesOptions;
  readonly #limits: Limits;
  readonly #pairs: readonly NamedPairFiles[];
  #loaded: readonly LoadedPair[];
  #names: NameTable<SecureContext>;

  private constructor(options: ServingCertificatesOptions, limits: Limits, loaded: readonly LoadedPair[]) {
    this.#options = options;
    this.#limits = limits;
    this.#pairs = ServingCertificates.#pairsOf(options);
    this.#loaded = loaded;
    this.#names = this.#table();
  }

  /** Reads all certificates. Throws an error with the file names if one of them is unusable. */
  static async load(options: ServingCertificatesOptions): Promise<ServingCertificates> {
    const limits = secureLimits(options.limits ?? {});
    const loading = ServingCertificates.#pairsOf(options).map(async pair => {
      try {
        return await loadPair(options.files, pair, limits);
      } catch (error) {
        throw failure(pair, error);
      }
    });
    return new ServingCertificates(options, limits, await Promise.all(loading));
  }

  static #pairsOf({pair, named = []}: ServingCertificatesOptions): NamedPairFiles[] {
    return [{...pair, patterns: []}, ...named];
  }

  /** The current default certificate and protocol limits. */
  get contextOptions(): SecureContextOptions {
    const {certificate, key} = this.#loaded[0]!;
    return {cert: certificate, key, ...this.#limits};
  }

  /**
   * Options for a TLS server. Other names are looked up at each handshake; the default certificate has to be set again
   * after a change.
   */
  get tlsOptions(): TlsOptions {
    const choose: TlsOptions['SNICallback'] = (name, answer) => {
      let context: SecureContext;
      try {
        context = this.contextFor(name);
      } catch (error) {
        return answer(error as Error);
      }
      answer(null, context);
    };
    return {...this.contextOptions, SNICallback: choose};
  }

  /** The default certificate. */
  get leaf(): Certificate {
    return this.#loaded[0]!.leaf;
  }

  /** The certificate for a server name, or for the local address if the client sends none. */
  contextFor(nameOrAddress: string): SecureContext {
    return this.#names.find(nameOrAddress) ?? this.#loaded[0]!.context;
  }

  /** Follows the files until the signal aborts, and reports the default certificate after any change. */
  follow(signal: AbortSignal, changed: (options: SecureContextOptions) => void): void {
    const {files, clock} = this.#options;
    const paths = this.#pairs.flatMap(({certFile, keyFile}) => [certFile, keyFile]);
    const check = async () => {
      if (await this.reload()) changed(this.contextOptions);
    };
    followFiles({files, clock, paths, signal, check});
  }

  /** Reads all certificates again; returns whether one changed. */
  async reload(): Promise<boolean> {
    const {files, log} = this.#options;
    const loading = this.#pairs.map(async (pair, index) => {
      const before = this.#loaded[index]!;
      try {
        return await loadPair(files, pair, this.#limits, before);
      } catch (error) {
        log.warn(
          {certFile: pair.certFile, keyFile: pair.keyFile, err: error},
          'keeping the serving certificate in use: the files do not hold a usable pair',
        );
        return before;
      }
    });
    const loaded = await Promise.all(loading);
    if (loaded.every((pair, index) => pair === this.#loaded[index])) return false;
    this.#loaded = loaded;
    this.#names = this.#table();
    log.info('serving with new certificates');
    return true;
  }

  /** Without the default certificate, which is used if no other matches. */
  #table(): NameTable<SecureContext> {
    const all = this.#pairs.map(({patterns}, index) => ({patterns, leaf: this.#loaded[index]!.leaf, value: this.#loaded[index]!.context}));
    return new NameTable(all.slice(1));
  }
}
