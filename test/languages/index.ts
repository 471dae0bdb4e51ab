// Runs the commands of the pages in docs/testing-from, each in a copy of its example, and checks that they print what
// the page shows. `ONLY=go,python` chooses; PLAT names the program, by default bin/plat of this checkout. A language
// that is not installed, or whose registry is not reachable, is skipped.
import {execFile} from 'node:child_process';
import {cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {delimiter, join, resolve} from 'node:path';
import {promisify, stripVTControlCharacters} from 'node:util';
import {blocksOf, settled, steps} from '#test/docs/console.js';
import {languages, pageOf, projectOf, type Language} from './languages.js';

const run = promisify(execFile);
const minutes = 60_000;

interface Failure {
  readonly killed?: boolean;
  readonly stdout?: string;
  readonly stderr?: string;
}

/** Runs a command of a shell in a folder, and returns what it prints. */
type Shell = (command: string) => Promise<string>;

const shellIn = (cwd: string, programs: string, home: string): Shell => {
  const {PLAT: _, ...inherited} = process.env;
  const env = {...inherited, PATH: [programs, process.env['PATH']].join(delimiter), PLAT_HOME: home, NO_COLOR: '1'};
  return async command => {
    const {stdout} = await run('bash', ['-c', `{ ${command}\n} 2>&1`], {cwd, env, timeout: 30 * minutes, maxBuffer: 64 << 20});
    return stdout;
  };
};

const outputOf = (error: unknown): string => (error as Failure).stdout || String(error);

/** What tools say where they have no network. */
const unreachable =
  /no such host|could not resolve host|unknown host|name resolution|network is unreachable|connection (?:refused|timed out)|i\/o timeout|proxyconnect|could not connect/i;

/** Fetches the packages. Returns why the language is not tested here; undefined where it can be. */
const lacking = async ({needs, fetch}: Language, shell: Shell): Promise<string | undefined> => {
  for (const need of needs)
    try {
      await shell(need);
    } catch {
      return `\`${need}\` does not succeed`;
    }
  try {
    await shell(fetch);
    return undefined;
  } catch (error) {
    const [reason] = unreachable.exec(outputOf(error)) ?? [];
    if (reason) return `its packages cannot be fetched (${reason})`;
    throw error;
  }
};

/** A line without colours and without the times of tests. */
const untimed = (line: string): string => settled(stripVTControlCharacters(line)).replaceAll(/\b\d+(?:\.\d+)? ?m?s\b/g, 'TIME');

/**
 * Runs the commands of a page. Throws what a command printed that failed, or that did not print what the page shows.
 */
const follow = async (page: string, shell: Shell): Promise<void> => {
  for (const {command, output} of steps(blocksOf(page))) {
    const printed = await shell(command).catch((error: unknown) => {
      throw new Error(`${command}\n${outputOf(error)}`, {cause: error});
    });
    const lines = new Set(printed.split('\n').map(untimed));
    const absent = output.filter(line => !lines.has(untimed(line)));
    if (absent.length > 0) throw new Error(`${command}\n${printed}\ndoes not print\n${absent.join('\n')}`);
  }
};

const test = async (language: Language): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), `plat-${language.name}-`));
  try {
    const programs = join(folder, 'bin');
    mkdirSync(programs);
    symlinkSync(resolve(process.env['PLAT'] ?? 'bin/plat'), join(programs, 'plat'));
    cpSync('examples/testing-from', join(folder, 'examples'), {recursive: true});
    const shell = shellIn(join(folder, 'examples', language.name), programs, join(folder, 'home'));
    const reason = await lacking(language, shell);
    if (reason) return console.log(`skipped: ${language.name}: ${reason}`);
    await follow(pageOf(language.name), shell);
    console.log(`passed: ${language.name} (${projectOf(language.name)})`);
  } catch (error) {
    console.error(`failed: ${language.name}\n${(error as Error).message}`);
    process.exitCode = 1;
  } finally {
    rmSync(folder, {recursive: true, force: true, maxRetries: 3});
  }
};

const only = process.env['ONLY']?.split(',').filter(Boolean) ?? [];
const unknown = only.filter(name => languages.every(each => each.name !== name));
if (unknown.length > 0) {
  console.error(`ONLY: there is no ${unknown.join(', ')}: ${languages.map(({name}) => name).join(', ')}`);
  process.exitCode = 2;
} else for (const each of languages) if (only.length === 0 || only.includes(each.name)) await test(each);
