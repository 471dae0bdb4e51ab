import {execFile, execFileSync, spawn} from 'node:child_process';
import {chmodSync, cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {basename, join, resolve} from 'node:path';
import {promisify} from 'node:util';
import test, {type ExecutionContext} from 'ava';
import {stop, transform} from 'esbuild';
import {aDirectory, Program, programFile} from '#test/cli/programs.js';
import {hasKubectl} from '#test/e2e/kubectl.js';

const run = promisify(execFile);

interface Block {
  readonly language: string;
  readonly lines: readonly string[];
}

const blocksOf = (file: string): readonly Block[] =>
  [...readFileSync(file, 'utf8').matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map(([, language = '', text = '']) => ({
    language,
    lines: text.trimEnd().split('\n'),
  }));
const blocks = blocksOf('README.md');

interface Step {
  readonly command: string;
  readonly output: readonly string[];
}

/** The commands of a page from top to bottom, and the output it shows. */
const steps = (blocks: readonly Block[]): Step[] => {
  const steps: {command: string; output: string[]}[] = [];
  for (const line of blocks.filter(({language}) => language === 'console').flatMap(({lines}) => lines)) {
    if (line.startsWith('$ ')) steps.push({command: line.slice(2), output: []});
    else if (line.startsWith('> ')) steps.at(-1)!.command += `\n${line.slice(2)}`;
    else steps.at(-1)!.output.push(line);
  }
  return steps;
};

/** A line without the parts that differ each time: ages, ports, and widths of columns. */
const settled = (line: string): string =>
  line
    .trim()
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/127\.0\.0\.1:\d+/g, 'ADDRESS')
    .replaceAll(/ \d+[smh](?= |$)/g, ' AGE');

const hasOpenssl = (() => {
  try {
    execFileSync('openssl', ['version'], {stdio: 'pipe'});
    return true;
  } catch {
    console.log('skipped: openssl is not installed');
    return false;
  }
})();

/** A shell that runs one command after the other and returns the output of each. */
class Shell implements Disposable {
  readonly #child;
  #text = '';
  #wake: () => void = () => {};

  constructor(cwd: string) {
    this.#child = spawn('bash', [], {cwd, env: {PATH: process.env['PATH'], HOME: cwd}});
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#text += text;
        this.#wake();
      });
    }
  }

  async run(command: string): Promise<{readonly code: number; readonly lines: string[]}> {
    this.#text = '';
    this.#child.stdin.write(`{\n${command}\n} 2>&1 < /dev/null\necho "@@ended $?"\n`);
    for (;;) {
      const [all, code] = /^@@ended (\d+)\n/m.exec(this.#text) ?? [];
      if (all) return {code: Number(code), lines: this.#text.replace(all, '').split('\n')};
      await new Promise<void>(resolve => (this.#wake = resolve));
    }
  }

  [Symbol.dispose](): void {
    this.#child.kill('SIGKILL');
  }
}

const isServer = (command: string): boolean => /^bin\/(plat (up|nodes)|plat-\w)/.test(command);

/** The command that a target of the Makefile runs after the build. */
const recipe = (target: string): string => new RegExp(`^${target}:.*\n\t@?(.*)$`, 'm').exec(readFileSync('Makefile', 'utf8'))?.[1] ?? '';

/** Types the console blocks of a page into a directory of its own, in which bin/ holds our programs. */
const play = async (t: ExecutionContext, blocks: readonly Block[]): Promise<void> => {
  const cwd = aDirectory();
  mkdirSync(join(cwd, 'bin'));
  cpSync('examples', join(cwd, 'examples'), {recursive: true});
  for (const name of ['plat', 'plat-controller-manager']) {
    writeFileSync(join(cwd, 'bin', name), `#!/bin/sh\nexec '${process.execPath}' '${join(process.cwd(), programFile(name))}' "$@"\n`);
    chmodSync(join(cwd, 'bin', name), 0o755);
  }
  using shell = new Shell(cwd);
  const servers: Program[] = [];
  t.teardown(() => Promise.all(servers.map(server => server.stop('SIGKILL'))));
  for (const {command: typed, output} of steps(blocks)) {
    const command = typed.replace(/^make (\w+)$/, (_, target: string) => recipe(target));
    const response = isServer(command) ? await serve(command, cwd, servers) : await shell.run(command);
    t.is(response.code, 0, `${command}\n${response.lines.join('\n')}`);
    const shown = response.lines.map(settled);
    for (const line of output) t.true(shown.includes(settled(line)), `${command}\nshows\n${response.lines.join('\n')}\nwithout\n${line}`);
  }
};

/** Starts a program that runs until it is stopped, and waits until it reports that it is ready. */
const serve = async (command: string, cwd: string, servers: Program[]) => {
  const [file = '', ...args] = command.replace('$(mktemp -d)', aDirectory()).split(' ');
  const name = file.replace('bin/', '');
  const server = new Program(name, name === 'plat' ? [...args, '--secure-port=0'] : args, {}, cwd);
  servers.push(server);
  await server.waitFor(/^ready: .*\n/m);
  return {code: 0, lines: server.stdout.split('\n')};
};

(hasOpenssl && hasKubectl(23) ? test : test.skip)('the commands of the README print the output it shows', play, blocks);

(hasKubectl(23) ? test : test.skip)('the commands of docs/simulation.md print the output it shows', play, blocksOf('docs/simulation.md'));

(hasKubectl(23) ? test : test.skip)('the commands of docs/devices.md print the output it shows', play, blocksOf('docs/devices.md'));

test('every make target the README names exists', t => {
  const typed = blocks.flatMap(({lines}) => lines.map(line => /^(?:\$ )?(make [^#]*)/.exec(line)?.[1]?.trim()));
  const targets = typed.filter(line => line !== undefined);

  t.deepEqual(targets, ['make up', 'make demo']);
  for (const target of targets) t.notThrows(() => execFileSync('make', ['-n', ...target.split(' ').slice(1)], {stdio: 'pipe'}));
});

const printed: Readonly<Record<string, readonly string[]>> = {
  'README.md': ['apiVersion: v1 true', 'hello', 'false', 'Failed', '[ 1, 1 ]'],
  'docs/embedding.md': [
    'default',
    'manifests[1] (ConfigMap greeting): ConfigMap "greeting" is invalid: data[a b]: Invalid val',
    'admission webhook "maps.example.com" denied the request: not today',
  ],
  'docs/operator-testing.md': ['true', '0'],
};
const bundled = Boolean(process.env['PLAT_TEST_BUNDLES']);
if (!bundled) console.log('skipped: the package is imported by its name from bundles that are as new as the tests (make test)');
const importing = bundled ? test : test.skip;

test.after.always('the compiler of the examples ends', () => stop());

for (const [file, lines] of Object.entries(printed)) {
  importing(`the examples in TypeScript of ${file} do what they say`, async t => {
    // Within the package its own name is an import. One process for all: loading the package takes longest.
    // Those without imports are excerpts.
    const examples = blocksOf(file).filter(({language, lines: code}) => language === 'ts' && code[0]?.startsWith('import '));
    const scripts = await Promise.all(
      examples.map(async ({lines: code}, index) => {
        const script = resolve('dist', `${basename(file, '.md')}-${process.pid}-${index}.mjs`);
        writeFileSync(script, (await transform(code.join('\n'), {loader: 'ts', target: 'node20'})).code);
        return script;
      }),
    );
    t.teardown(() => scripts.forEach(script => rmSync(script)));
    const {stdout} = await run(process.execPath, [
      '--input-type=module',
      '-e',
      scripts.map(script => `await import(${JSON.stringify(script)});`).join('\n'),
    ]);

    t.deepEqual(stdout.trimEnd().split('\n'), lines);
  });
}

for (const example of ['backups/operator', 'cronjobs/operator', 'labels/node'])
  importing(`the example ${example} passes its test`, async t => {
    await t.notThrowsAsync(run(process.execPath, [`dist/examples/${example}.test.js`]));
  });

importing('the test of an operator runs under ava too, in a project of its own', async t => {
  const project = aDirectory();
  mkdirSync(join(project, 'node_modules'));
  for (const [name, target] of [
    ['plat', '.'],
    ['ava', 'node_modules/ava'],
  ] as const)
    symlinkSync(resolve(target), join(project, 'node_modules', name));
  for (const file of ['operator.js', 'scenario.js', 'ava.test.js']) cpSync(join('dist/examples/labels', file), join(project, file));
  writeFileSync(join(project, 'package.json'), '{"type": "module"}');
  const {stdout} = await run(process.execPath, [resolve('node_modules/ava/entrypoints/cli.mjs'), '--tap', '--timeout=2m'], {cwd: project});
  t.regex(stdout, /^ok 1 - /m);
});

test('every kind of block in the README is run', t => {
  t.deepEqual([...new Set(blocks.map(({language}) => language))].sort(), ['console', 'sh', 'ts']);
});
