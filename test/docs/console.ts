// The consoles of pages, typed into a shell: what they show must be what the programs print.

import {spawn} from 'node:child_process';
import {chmodSync, cpSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import type {ExecutionContext} from 'ava';
import {aDirectory, Program, programFile} from '#test/cli/programs.js';
import {bareEnvironment} from '#test/e2e/kubectl.js';

export interface Block {
  readonly language: string;
  readonly lines: readonly string[];
}

/** The text below a heading of the second level, up to the next. */
const sectionOf = (page: string, heading: string): string => page.split(/^## /m).find(section => section.startsWith(`${heading}\n`)) ?? '';

/** The blocks of a page: of one of its sections, or of all but one. */
export const blocksOf = (file: string, {of, without}: {readonly of?: string; readonly without?: string} = {}): readonly Block[] => {
  const page = readFileSync(file, 'utf8');
  const text = of === undefined ? page : sectionOf(page, of);
  return blocksIn(without === undefined ? text : text.replace(sectionOf(page, without), ''));
};

const blocksIn = (page: string): readonly Block[] =>
  [...page.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map(([, language = '', text = '']) => ({
    language,
    lines: text.trimEnd().split('\n'),
  }));

interface Step {
  readonly command: string;
  readonly output: readonly string[];
}

/** The commands of a page from top to bottom, and the output it shows. */
export const steps = (blocks: readonly Block[]): Step[] => {
  const steps: {command: string; output: string[]}[] = [];
  for (const line of blocks.filter(({language}) => language === 'console').flatMap(({lines}) => lines)) {
    if (line.startsWith('$ ')) steps.push({command: line.slice(2), output: []});
    else if (line.startsWith('> ')) steps.at(-1)!.command += `\n${line.slice(2)}`;
    else steps.at(-1)!.output.push(line);
  }
  return steps;
};

/** A line without the parts that differ each time: ages, ports, and widths of columns. */
export const settled = (line: string): string =>
  line
    .trim()
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/127\.0\.0\.1:\d+/g, 'ADDRESS')
    .replaceAll(/ \d+[smh](?= |$)/g, ' AGE');

/** A shell that runs one command after the other and returns the output of each. */
class Shell implements Disposable {
  readonly #child;
  #text = '';
  #wake: () => void = () => {};

  constructor(cwd: string, enter: readonly string[]) {
    const [program = '', ...args] = [...enter, 'bash'];
    this.#child = spawn(program, args, {cwd, env: {...bareEnvironment, HOME: aDirectory()}});
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

/** Where the commands run, and the flags of planes beside those that are typed. */
export interface Stage {
  readonly planeFlags?: readonly string[];
  /** The beginning of a command line that enters namespaces. */
  readonly enter?: readonly string[];
}

/**
 * Types console blocks into a directory of its own, in which bin/ holds our programs, and returns the directory.
 */
export const play = async (t: ExecutionContext, blocks: readonly Block[], {planeFlags = [], enter = []}: Stage = {}): Promise<string> => {
  const cwd = aDirectory();
  mkdirSync(join(cwd, 'bin'));
  cpSync('examples', join(cwd, 'examples'), {recursive: true});
  for (const name of ['plat', 'plat-controller-manager']) {
    writeFileSync(
      join(cwd, 'bin', name),
      `#!/bin/sh\nexec ${enter.join(' ')} '${process.execPath}' '${join(process.cwd(), programFile(name))}' "$@"\n`,
    );
    chmodSync(join(cwd, 'bin', name), 0o755);
  }
  using shell = new Shell(cwd, enter);
  const servers: Program[] = [];
  t.teardown(() => Promise.all(servers.map(server => server.stop('SIGKILL'))));
  for (const {command: typed, output} of steps(blocks)) {
    const command = typed.replace(/^make (\w+)$/, (_, target: string) => recipe(target));
    const response = isServer(command) ? await serve(command, {cwd, servers, planeFlags}) : await shell.run(command);
    t.is(response.code, 0, `${command}\n${response.lines.join('\n')}`);
    const shown = response.lines.map(settled);
    for (const line of output) t.true(shown.includes(settled(line)), `${command}\nshows\n${response.lines.join('\n')}\nwithout\n${line}`);
  }
  return cwd;
};

/** Starts a program that runs until it is stopped, and waits until it reports that it is ready. */
const serve = async (
  command: string,
  {cwd, servers, planeFlags}: {readonly cwd: string; readonly servers: Program[]; readonly planeFlags: readonly string[]},
) => {
  const [file = '', ...args] = command.replace('$(mktemp -d)', aDirectory()).split(' ');
  const all = file === 'bin/plat' ? [...args, '--secure-port=0', ...planeFlags] : args;
  const server = new Program(join(cwd, file), all, {}, cwd, '/bin/sh');
  servers.push(server);
  await server.waitFor(/^ready: .*\n/m);
  return {code: 0, lines: server.stdout.split('\n')};
};
