// Runs the example operator's test under node:test, vitest, Jest, Mocha and Bun, and its scenario on Deno, in a project
// of its own with the linked package. They are installed from the npm registry: without it they are skipped.
import {execFile} from 'node:child_process';
import {cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {delimiter, dirname, join, resolve} from 'node:path';
import {promisify} from 'node:util';
import {packageName} from '#src/api/version.js';
import {frameworks, runtimes} from './runners.js';

const run = promisify(execFile);
const minutes = 60_000;

const present = process.platform === 'linux' && process.arch === 'x64' ? runtimes : [];

interface Failure {
  readonly killed?: boolean;
  readonly stdout?: string;
  readonly stderr?: string;
}

/** Installs the frameworks. Returns why that is not possible here; undefined once they are installed. */
const notInstalled = async (cwd: string): Promise<string | undefined> => {
  const packages = [...frameworks.flatMap(({install}) => install ?? []), ...present.map(each => each.package)];
  const options = ['--no-audit', '--no-fund', '--no-package-lock', '--fetch-retries=1', '--fetch-timeout=30000'];
  try {
    await run('npm', ['install', ...options, ...packages], {cwd, timeout: 5 * minutes});
    return undefined;
  } catch (error) {
    const {killed, stderr = ''} = error as Failure;
    if (killed) return 'npm did not install them within five minutes';
    const [, code] =
      /code (ENOTCACHED|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EIDLETIMEOUT|FETCH_ERROR)\b/.exec(stderr) ?? [];
    if (code) return `the npm registry is not reachable (${code})`;
    throw error;
  }
};

/** Makes the project: the linked package, the operator and its tests, and the programs of runtimes in `bin`. */
const fill = (project: string): void => {
  const link = join(project, 'node_modules', packageName);
  mkdirSync(dirname(link), {recursive: true});
  symlinkSync(resolve('.'), link);
  for (const file of ['operator.js', 'operator.js.map', 'scenario.js', 'scenario.js.map'])
    cpSync(join('dist/examples/labels', file), join(project, file));
  for (const {test, command} of [...frameworks, ...runtimes]) {
    const runsAsIs = command.includes(test);
    const file = runsAsIs ? test : test.replace(/\.ts$/, '.js');
    cpSync(join(runsAsIs ? 'examples/labels' : 'dist/examples/labels', file), join(project, file));
  }
  mkdirSync(join(project, 'bin'));
  symlinkSync(process.execPath, join(project, 'bin/node'));
  for (const {name, package: from, program} of present)
    symlinkSync(join(project, 'node_modules', from, program), join(project, 'bin', name));
};

/** Checks that a program of the package says in one line that it needs Node.js. */
const refusesPrograms = async (file: string, command: string): Promise<void> => {
  const flags = command.startsWith('deno') ? ['run', '--allow-all'] : [];
  const refusal = await run(file, [...flags, resolve('bin/plat'), 'version']).then(
    () => '',
    ({stderr}: Failure) => stderr ?? '',
  );
  if (!/^plat: needs Node\.js, and this is \w+ [\d.]+: only the library runs there\n$/.test(refusal))
    throw Object.assign(new Error('no refusal'), {stderr: `a program does not say that it needs Node.js: ${refusal}`});
};

const attempt = async (name: string, run: () => Promise<unknown>): Promise<void> => {
  try {
    await run();
    console.log(`passed: ${name}`);
  } catch (error) {
    const {stdout = '', stderr = String(error)} = error as Failure;
    console.error(`failed: ${name}\n${stdout}${stderr}`);
    process.exitCode = 1;
  }
};

const project = mkdtempSync(join(tmpdir(), 'plat-frameworks-'));
try {
  writeFileSync(join(project, 'package.json'), '{"type": "module", "private": true}');
  const reason = await notInstalled(project);
  if (reason) console.log(`skipped: ${reason}`);
  else {
    fill(project);
    const env = {...process.env, CI: '1', PATH: [join(project, 'bin'), process.env['PATH']].join(delimiter)};
    const shell = (command: string) => run('sh', ['-c', command], {cwd: project, timeout: 3 * minutes, env});
    for (const {name, command} of frameworks) await attempt(name, () => shell(command));
    for (const {name, command} of present)
      await attempt(name, async () => {
        await shell(command);
        await refusesPrograms(join(project, 'bin', name), command);
      });
  }
} finally {
  rmSync(project, {recursive: true, force: true});
}
