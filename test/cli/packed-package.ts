import {execFile, execFileSync} from 'node:child_process';
import {mkdirSync, symlinkSync} from 'node:fs';
import {join} from 'node:path';
import {promisify} from 'node:util';
import {packageName, packageVersion} from '#src/api/version.js';
import {aDirectory} from './programs.js';

const run = promisify(execFile);

/** Whether the bundles are as new as the tests: without them there is nothing to pack. */
export const isBundled = Boolean(process.env['PLAT_TEST_BUNDLES']);

/** A folder in which the package is installed as by npm, with its dependencies beside it. */
export interface PackedPackage {
  readonly home: string;
  /** The package in it. */
  readonly installed: string;
}

let packed: Promise<PackedPackage> | undefined;

const pack = async (): Promise<PackedPackage> => {
  const home = aDirectory();
  const installed = join(home, 'node_modules', packageName);
  mkdirSync(installed, {recursive: true});
  await run('npm', ['pack', '--ignore-scripts', `--pack-destination=${home}`]);
  execFileSync('tar', ['-xzf', join(home, `platio-plat-${packageVersion}.tgz`), '--strip-components=1', '-C', installed]);
  symlinkSync(join(process.cwd(), 'node_modules/lmdb'), join(home, 'node_modules/lmdb'));
  return {home, installed};
};

/** Packs the package and installs it without a registry, once in a process. */
export const packedPackage = (): Promise<PackedPackage> => (packed ??= pack());
