// Runs the example operator's test under vitest and Jest, in a project of its own with the linked package. They are
// installed from the npm registry: without it they are skipped.
import {execFile} from 'node:child_process';
import {cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';
import {promisify} from 'node:util';

const run = promisify(execFile);
const minutes = 60_000;

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

interface Failure {
  readonly killed?: boolean;
  readonly stdout?: string;
  readonly stderr?: string;
}

/** Installs the frameworks. Returns why that is not possible here; undefined once they are installed. */
const notInstalled = async (cwd: string): Promise<string | undefined> => {
  const packages = frameworks.map(({name, version}) => `${name}@${version}`);
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
    symlinkSync(resolve('.'), join(project, 'node_modules', 'plat'));
    for (const file of ['operator.js', 'operator.js.map', 'scenario.js', 'scenario.js.map'])
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
  }
} finally {
  rmSync(project, {recursive: true, force: true});
}
