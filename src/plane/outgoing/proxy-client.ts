// The certificate that the API server presents to extension servers and proxied backends (--proxy-client-cert-file),
// reloaded when its files change.

import type {Clock} from '#src/base/clock.js';
import {followFiles, type Files} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import {checkKeyPair} from '#src/pki/key-pair.js';
import type {ClientPair} from '#src/transport/request-credentials.js';

export interface ProxyClientParts {
  readonly options: Pick<ApiserverOptions, 'proxyClientCertFile' | 'proxyClientKeyFile'>;
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
}

/** The server's client certificate for the servers it calls, as currently in its files. */
export interface ProxyClient {
  /** Absent if no files are configured. */
  readonly pair: ClientPair | undefined;
  /**
   * Reloads the files when they change, until the signal aborts. A certificate that does not match the key is ignored.
   */
  follow(changed: () => void, signal: AbortSignal): void;
}

const contentOf = async (files: Files, flag: string, path: string): Promise<string> => {
  const content = await files.read(path);
  if (!content) throw new Error(`--${flag}: open ${path}: no such file or directory`);
  return content.toString();
};

/** Reads the configured certificate and key. Rejects with an error of one line that names the flag. */
export const proxyClient = async ({options, files, clock, log}: ProxyClientParts): Promise<ProxyClient> => {
  const {proxyClientCertFile: certFile, proxyClientKeyFile: keyFile} = options;
  if (!certFile || !keyFile) return {pair: undefined, follow: () => {}};
  const read = async (): Promise<ClientPair> => {
    const [cert, key] = await Promise.all([
      contentOf(files, 'proxy-client-cert-file', certFile),
      contentOf(files, 'proxy-client-key-file', keyFile),
    ]);
    try {
      checkKeyPair(cert, key);
    } catch (cause) {
      throw new Error(`--proxy-client-cert-file: ${certFile} and ${keyFile}: ${messageOf(cause)}`, {cause});
    }
    return {cert, key};
  };
  let pair = await read();
  return {
    get pair() {
      return pair;
    },
    follow(changed, signal) {
      const check = async () => {
        try {
          const fresh = await read();
          if (fresh.cert === pair.cert && fresh.key === pair.key) return;
          pair = fresh;
          changed();
        } catch (error) {
          log.warn({file: certFile, err: error}, 'keeping the proxy client certificate in use: the files do not hold one');
        }
      };
      followFiles({files, clock, paths: [certFile, keyFile], signal, check});
    },
  };
};
