// Writes the folder of programs that test environments of other languages start: small scripts that run this package,
// or links to the executable.

import {createHash} from 'node:crypto';
import {accessSync, chmodSync, constants, existsSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {homedir, tmpdir} from 'node:os';
import {basename, delimiter, dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {makeFolder} from '#src/base/files/folder.js';
import {shellQuoted} from '#src/base/text/shell-quoted.js';
import {naming} from '#src/api/naming.js';
import {isExecutable} from '#src/cli/program/executable.js';

const here = fileURLToPath(import.meta.url);

/** Returns the arguments of Node.js that run one of the internal programs: from the bundle, or as compiled. */
const commandOf = (program: string): readonly string[] =>
  basename(here) === 'plat.cjs' ? [join(dirname(here), 'run.cjs'), program] : [join(dirname(here), '..', `${program}.js`)];

const script = (program: string): string =>
  `#!/bin/sh\nexec ${[process.execPath, ...commandOf(program)].map(shellQuoted).join(' ')} "$@"\n`;

/** Returns the path of an executable on PATH; undefined if there is none. */
const onPath = (name: string, path = process.env['PATH'] ?? ''): string | undefined =>
  path
    .split(delimiter)
    .map(folder => join(folder, name))
    .find(file => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });

/** The client program is not part of this package. */
const missing = (name: string): string => `#!/bin/sh\necho '${name}: not installed: plat uses the one on PATH' >&2\nexit 1\n`;

/** Returns the folder for caches of this user. */
const cacheFolder = (): string => process.env['XDG_CACHE_HOME'] || join(homedir() || tmpdir(), '.cache');

/** A program of the folder: a script, or a link. */
type Entry = {readonly text: string} | {readonly link: string};

const programEntry = (program: string): Entry => (isExecutable() ? {link: process.execPath} : {text: script(program)});

const write = (file: string, entry: Entry): void =>
  'link' in entry ? symlinkSync(entry.link, file) : writeFileSync(file, entry.text, {mode: 0o755});

/**
 * Returns a folder with the programs `kube-apiserver`, `etcd` and `kubectl`, for KUBEBUILDER_ASSETS. It is written once
 * for each place of this package and each Node.js, and appears complete.
 */
export const programFolder = (): string => {
  const words = naming('kubernetes');
  const client = onPath('kubectl');
  const files: Readonly<Record<string, Entry>> = {
    [words.component('apiserver')]: programEntry('plat-envtest-apiserver'),
    [words.storeProgram]: programEntry('plat-envtest-store'),
    kubectl: client ? {link: client} : {text: missing('kubectl')},
  };
  const id = createHash('sha256').update(JSON.stringify(files)).digest('hex').slice(0, 16);
  const target = join(cacheFolder(), 'plat', 'envtest', id);
  if (existsSync(target)) return target;
  makeFolder(dirname(target));
  const fresh = mkdtempSync(`${target}-`);
  for (const [name, entry] of Object.entries(files)) write(join(fresh, name), entry);
  chmodSync(fresh, 0o755);
  try {
    renameSync(fresh, target);
  } catch (error) {
    rmSync(fresh, {recursive: true, force: true});
    if (!existsSync(target)) throw error; // Otherwise another process was faster.
  }
  return target;
};
