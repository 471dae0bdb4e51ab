import {execFile} from 'node:child_process';
import {writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {promisify} from 'node:util';

const run = promisify(execFile);

/** Verifies certificates with an independent program. */
export interface OpenSsl {
  readonly version: string;
  /** A new RSA key and a request for it. */
  request(name: string, subject: string): Promise<{readonly key: string; readonly request: string}>;
  /** Rejects unless the CA issued the certificate for client authentication. */
  verify(name: string, certificate: string, authority: string): Promise<void>;
}

/** The openssl of this machine, working in `folder`; undefined if there is none. */
export const findOpenSsl = async (folder: string): Promise<OpenSsl | undefined> => {
  const openssl = async (...args: string[]) => (await run('openssl', args, {cwd: folder})).stdout;
  const version = await openssl('version').catch(() => undefined);
  if (version === undefined) return undefined;
  return {
    version: version.split(' ').slice(0, 2).join(' '),
    async request(name, subject) {
      const key = join(folder, `${name}.key`);
      const request = await openssl('req', '-new', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-subj', subject);
      return {key: await openssl('pkey', '-in', key), request};
    },
    async verify(name, certificate, authority) {
      const [file, ca] = [join(folder, `${name}.crt`), join(folder, 'authority.crt')];
      await Promise.all([writeFile(file, certificate), writeFile(ca, authority)]);
      await openssl('verify', '-purpose', 'sslclient', '-CAfile', ca, file);
    },
  };
};
