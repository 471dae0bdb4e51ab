// What a new project depends on. The package is in no registry, so a project refers to the one it was made by.

import {existsSync, readFileSync, realpathSync} from 'node:fs';
import {dirname, join, resolve} from 'node:path';
import {packageName} from '#src/api/version.js';

/** The part of npm's record of installed packages that names where a package came from. */
interface InstalledPackages {
  readonly packages?: Readonly<Record<string, {readonly resolved?: string} | undefined>>;
}

/**
 * Returns the path of the tarball that a package was installed from, if it is still there. npm records it beside the
 * installed packages, relative to the folder that has them.
 */
const tarballOf = (installed: string): string | undefined => {
  const modules = resolve(installed, '../..');
  const record = join(modules, '.package-lock.json');
  if (!existsSync(record)) return undefined;
  const {packages} = JSON.parse(readFileSync(record, 'utf8')) as InstalledPackages;
  const resolved = packages?.[`node_modules/${packageName}`]?.resolved;
  if (!resolved?.startsWith('file:') || !resolved.endsWith('.tgz')) return undefined;
  const tarball = resolve(dirname(modules), resolved.slice('file:'.length));
  return existsSync(tarball) ? tarball : undefined;
};

/**
 * Returns the dependency on the package in a folder, for package.json: `file:` and its tarball, or the folder itself.
 */
export const packageSource = (folder: string): string => {
  const installed = realpathSync(folder);
  return `file:${tarballOf(installed) ?? installed}`;
};
