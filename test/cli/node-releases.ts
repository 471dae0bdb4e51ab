import {spawnSync} from 'node:child_process';
import {existsSync} from 'node:fs';
import {join} from 'node:path';

/**
 * Returns the file of another release of Node.js, which npm carries too, and keeps it for the next run; undefined, with
 * a line that says so, where it cannot be had, or is the one that runs.
 */
export const installedNode = (release: string): string | undefined => {
  const name = `node-${process.platform}-${process.arch}`;
  const folder = join('dist', `node-${release}`);
  const file = join(process.cwd(), folder, 'node_modules', name, 'bin', 'node');
  const install = [
    'install',
    `--prefix=${folder}`,
    '--no-save',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--fetch-retries=0',
    '--fetch-timeout=20000',
    `${name}@${release}`,
  ];
  if (process.version !== `v${release}`) {
    if (!existsSync(file)) spawnSync('npm', install, {timeout: 90_000});
    if (existsSync(file)) return file;
  }
  console.log(`skipped: npm does not bring Node ${release} here`);
  return undefined;
};
