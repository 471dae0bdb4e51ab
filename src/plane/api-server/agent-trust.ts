import {type Files, followFiles} from '#src/base/files/files.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {AgentTrust} from '#src/apiserver/handlers/agent-trust.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import {parseCertificateBundle} from '#src/pki/certificate.js';
import {checkKeyPair} from '#src/pki/key-pair.js';

export interface AgentTrustParts {
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
  /** Ends the following of the files. */
  readonly signal: AbortSignal;
}

type AgentOptions = Pick<ApiserverOptions, 'platletCertificateAuthority' | 'platletClientCertificate' | 'platletClientKey'>;

/**
 * The CA and the client certificate for connections to node agents, as currently in the files. Without a CA, agents are
 * not verified, as upstream. Invalid content is ignored: the last valid one remains in use. Rejects with an error of
 * one line that names the flag if the initial content is invalid.
 */
export const followAgentTrust = async (
  options: AgentOptions,
  {files, clock, log, signal}: AgentTrustParts,
): Promise<{readonly current: AgentTrust}> => {
  const {platletCertificateAuthority: caFile, platletClientCertificate: certFile, platletClientKey: keyFile} = options;
  const content = async (flag: string, path: string): Promise<Buffer | undefined> => {
    if (!path) return undefined;
    const bytes = await files.read(path);
    if (!bytes) throw new Error(`--${flag}: open ${path}: no such file or directory`);
    return bytes;
  };
  const read = async (): Promise<AgentTrust> => {
    const ca = await content('platlet-certificate-authority', caFile);
    const cert = await content('platlet-client-certificate', certFile);
    const key = await content('platlet-client-key', keyFile);
    if (ca) refused('platlet-certificate-authority', caFile, () => parseCertificateBundle(ca));
    if (cert && key) refused('platlet-client-certificate', `${certFile}, --platlet-client-key: ${keyFile}`, () => checkKeyPair(cert, key));
    const pair = cert && key ? {pair: {cert, key}} : {};
    return {verified: {...pair, ...(ca ? {ca} : {insecure: true})}, unverified: {...pair, insecure: true}};
  };
  let current = await read();
  const paths = [caFile, certFile, keyFile].filter(Boolean);
  if (paths.length > 0) {
    followFiles({
      files,
      clock,
      paths,
      signal,
      async check() {
        try {
          const fresh = await read();
          // The value is kept while nothing changed: connections are pooled by it.
          if (!same(fresh, current)) current = fresh;
        } catch (error) {
          log.warn({err: error}, 'keeping what proves this server and the agents of nodes to each other: the files are of no use');
        }
      },
    });
  }
  return {
    get current() {
      return current;
    },
  };
};

const refused = (flag: string, where: string, read: () => unknown): void => {
  try {
    read();
  } catch (cause) {
    throw new Error(`--${flag}: ${where}: ${(cause as Error).message}`, {cause});
  }
};

const same = ({verified: one}: AgentTrust, {verified: other}: AgentTrust): boolean =>
  [
    [one.ca, other.ca],
    [one.pair?.cert, other.pair?.cert],
    [one.pair?.key, other.pair?.key],
  ].every(([a, b]) => String(a) === String(b));
