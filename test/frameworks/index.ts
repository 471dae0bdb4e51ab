// Runs the example operator's test under vitest and Jest, and its scenario on Bun and Deno, in a project of its own
// with the linked package. They are installed from the npm registry: without it they are skipped.
import {execFile} from 'node:child_process';
import {cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join, resolve} from 'node:path';
import {promisify} from 'node:util';
import {packageName} from '#src/api/version.js';

const run = promisify(execFile);
const minutes = 60_000;

interface Runtime {
  readonly name: string;
  /** The package with the runtime for Linux on x86-64, which needs no install script. */
  readonly package: string;
  readonly program: string;
  readonly args: readonly string[];
}

const runtimes: readonly Runtime[] = [
  {name: 'bun', package: '@oven/bun-linux-x64', program: 'bin/bun', args: []},
  {name: 'deno', package: '@deno/linux-x64-glibc', program: 'deno', args: ['run', '--allow-all', '--node-modules-dir=manual']},
];

interface Framework {
  readonly name: string;
  /** A release that runs on the oldest Node.js that plat does. */
  readonly version: string;
  readonly args: readonly string[];
}

const frameworks: readonly Framework[] = [
  {name: 'vitest', version: '3', args: ['node_modules/vitest/vitest.mjs', 'run', 'vitest.test.ts', '--testTimeout=120000']},
  {
    name: 'jest',
    version: '30',
    args: ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js', 'jest.test.js', '--testTimeout=120000'],
  },
];

const isLinux = process.platform === 'linux' && process.arch === 'x64';

interface Failure {
  readonly killed?: boolean;
  readonly stdout?: string;
  readonly stderr?: string;
}

/** Installs the frameworks. Returns why that is not possible here; undefined once they are installed. */
const notInstalled = async (cwd: string): Promise<string | undefined> => {
  const packages = [...frameworks.map(({name, version}) => `${name}@${version}`), ...(isLinux ? runtimes.map(each => each.package) : [])];
  const options = ['--no-audit', '--no-fund', '--no-package-lock', '--fetch-retries=1', '--fetch-timeout=30000'];
  try {
    await run('npm', ['install', ...options, ...packages], {cwd, timeout: 2 * minutes});
    return undefined;
  } catch (error) {
    const {killed, stderr = ''} = error as Failure;
    if (killed) return 'npm did not install them within two minutes';
    const [, code] =
      /code (ENOTCACHED|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EIDLETIMEOUT|FETCH_ERROR)\b/.exec(stderr) ?? [];
    if (code) return `the npm registry is not reachable (${code})`;
    throw error;
  }
};

const project = mkdtempSync(join(tmpdir(), 'plat-frameworks-'));
try {
  writeFileSync(join(project, 'package.json'), '{"type": "module", "private": true}');
  const reason = await notInstalled(project);
  if (reason) console.log(`skipped: ${reason}`);
  else {
    const link = join(project, 'node_modules', packageName);
    mkdirSync(dirname(link), {recursive: true});
    symlinkSync(resolve('.'), link);
    for (const file of ['operator.js', 'operator.js.map', 'scenario.js', 'scenario.js.map', 'runtime.js'])
      cpSync(join('dist/examples/labels', file), join(project, file));
    for (const file of ['vitest.test.ts', 'jest.test.js']) cpSync(join('examples/labels', file), join(project, file));
    for (const {name, args} of frameworks)
      try {
        await run(process.execPath, args, {cwd: project, timeout: 3 * minutes, env: {...process.env, CI: '1'}});
        console.log(`passed: ${name}`);
      } catch (error) {
        const {stdout = '', stderr = ''} = error as Failure;
        console.error(`failed: ${name}\n${stdout}${stderr}`);
        process.exitCode = 1;
      }
    for (const {name, package: from, program, args} of isLinux ? runtimes : [])
      try {
        const file = join(project, 'node_modules', from, program);
        await run(file, [...args, 'runtime.js'], {cwd: project, timeout: 3 * minutes});
        const refusal = await run(file, [...args, resolve('bin/plat'), 'version']).then(
          () => '',
          ({stderr}: Failure) => stderr ?? '',
        );
        if (!/^plat: needs Node\.js, and this is \w+ [\d.]+: only the library runs there\n$/.test(refusal))
          throw Object.assign(new Error('no refusal'), {stderr: `a program does not say that it needs Node.js: ${refusal}`});
        console.log(`passed: ${name}`);
      } catch (error) {
        const {stdout = '', stderr = ''} = error as Failure;
        console.error(`failed: ${name}\n${stdout}${stderr}`);
        process.exitCode = 1;
      }
  }
} finally {
  rmSync(project, {recursive: true, force: true});
}
