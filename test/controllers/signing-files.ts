import {mkdtempSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {authorityPem, createAuthority, type Authority} from '#src/pki/authority.js';
import {generatePrivateKey, type KeySpec} from '#src/pki/keys/keys.js';

/** Two files for a signing pair, in a folder of their own. */
export interface SigningFiles {
  readonly certificate: string;
  readonly key: string;
  write(authority: Authority, ...more: readonly Authority[]): void;
}

/** An authority that is valid from `now`. */
export const anAuthority = async (
  commonName: string,
  now: number,
  {key, lifetimeMs}: {readonly key?: KeySpec; readonly lifetimeMs?: number} = {},
): Promise<Authority> =>
  createAuthority(await generatePrivateKey(key), {commonName, now, ...(lifetimeMs === undefined ? {} : {lifetimeMs})});

/** Files that hold an authority; with more of them the certificate file holds them all. */
export const signingFiles = (authority?: Authority): SigningFiles => {
  const folder = mkdtempSync(join(tmpdir(), 'plat-signing-'));
  const files: SigningFiles = {
    certificate: join(folder, 'ca.crt'),
    key: join(folder, 'ca.key'),
    write(first, ...more) {
      writeFileSync(files.certificate, [first, ...more].map(each => authorityPem(each).certificate).join(''));
      writeFileSync(files.key, authorityPem(first).key);
    },
  };
  if (authority) files.write(authority);
  return files;
};
