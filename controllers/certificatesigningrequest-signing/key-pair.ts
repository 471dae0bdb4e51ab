import type {Clock} from '#src/base/clock.js';
import {contentOf, followFiles, type Files} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import {loadAuthority, type Authority} from '#src/pki/authority.js';
import {parseKeyPair} from '#src/pki/key-pair.js';
import type {SignerFiles} from './key-files.js';

interface Content {
  readonly certificate: Buffer;
  readonly key: Buffer;
}

interface Environment {
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/**
 * The current key pair of a signer's files. Files that do not match, as while one of two is replaced, leave the last
 * pair in use; a pair that is not a single CA makes signing fail until the files are corrected.
 */
export class SigningPair {
  readonly #source: SignerFiles;
  readonly #environment: Environment;
  #content: Content;
  #authority: Authority | undefined;
  #failure: unknown;

  /** Reads the pair and watches its files. Rejects for a pair that cannot sign. */
  static async open(source: SignerFiles, environment: Environment): Promise<SigningPair> {
    const content = await read(source, environment.files);
    const pair = new SigningPair(source, environment, content, authorityIn(source, content));
    const paths = [source.certificate, source.key];
    followFiles({...environment, paths, check: () => pair.#reload()});
    return pair;
  }

  private constructor(source: SignerFiles, environment: Environment, content: Content, authority: Authority) {
    this.#source = source;
    this.#environment = environment;
    this.#content = content;
    this.#authority = authority;
  }

  /** Returns the CA to sign with. Throws if the current pair cannot sign. */
  current(): Authority {
    if (!this.#authority) throw this.#failure;
    return this.#authority;
  }

  async #reload(): Promise<void> {
    const {clock, files, log} = this.#environment;
    const {certificate: file} = this.#source;
    using _ = clock.hold();
    try {
      const content = await read(this.#source, files);
      if (content.certificate.equals(this.#content.certificate) && content.key.equals(this.#content.key)) return;
      parseKeyPair(content.certificate, content.key);
      this.#content = content;
    } catch (error) {
      log.error({file, err: error}, 'changed signing files are no pair: the last pair stays in use');
      return;
    }
    this.#useContent(file);
  }

  #useContent(file: string): void {
    const {log} = this.#environment;
    try {
      this.#authority = authorityIn(this.#source, this.#content);
      log.info({file}, 'took up a changed signing pair');
    } catch (error) {
      this.#authority = undefined;
      this.#failure = error;
      log.error({file, err: error}, 'the changed signing pair cannot sign');
    }
  }
}

const read = async ({certificate, key}: SignerFiles, files: Files): Promise<Content> => {
  return {certificate: await contentOf(files, certificate), key: await contentOf(files, key)};
};

const authorityIn = ({certificate, key}: SignerFiles, content: Content): Authority =>
  loadAuthority(`csr-controller::${certificate}::${key}`, content.certificate, content.key);
