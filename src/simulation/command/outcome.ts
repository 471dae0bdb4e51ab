// Derives what a container's command does from its command line: output, exit code and duration. Nothing is executed.

import {parseCommandList, type Redirect} from './shell.js';

/** A text written by a command: the time in ms after its start, and the output. */
export interface Output {
  readonly afterMs: number;
  readonly text: string;
  readonly stream: 'stdout' | 'stderr';
}

/** The simulated effect of a command, as far as the command line determines it. */
export interface CommandOutcome {
  readonly output: readonly Output[];
  /** In ms; Infinity for a command that never exits. */
  readonly durationMs: number;
  readonly exitCode: number;
  /** The content of the termination message file. */
  readonly message?: string;
}

/** The environment of a command. */
export interface CommandEnvironment {
  /** Returns the value of an environment variable; undefined where it is unknown. */
  valueOf(name: string): string | undefined;
  /** The path of the termination message file, if there is one. */
  readonly messagePath?: string;
}

/** Thrown for a command whose effect cannot be derived. */
class UnsupportedCommand extends Error {}

/** The maximum nesting of shells. */
const maxShellDepth = 4;

class CommandSimulator {
  readonly output: Output[] = [];
  readonly #environment: CommandEnvironment;
  #ms = 0;
  #code = 0;
  #message: string | undefined;
  #isExited = false;

  constructor(environment: CommandEnvironment) {
    this.#environment = environment;
  }

  get outcome(): CommandOutcome {
    return {
      output: this.output,
      durationMs: this.#ms,
      exitCode: this.#code,
      ...(this.#message === undefined ? {} : {message: this.#message}),
    };
  }

  command([name = '', ...args]: readonly string[], redirects: readonly Redirect[], depth: number): void {
    this.#code = 0;
    switch (name.slice(name.lastIndexOf('/') + 1)) {
      case 'true':
      case ':':
        return;
      case 'false':
        this.#code = 1;
        return;
      case 'echo':
        return this.#write(echoed(args), redirects);
      case 'sleep':
        return this.#sleep(args);
      case 'exit':
        return this.#exit(args);
      case 'exec':
        this.command(args, redirects, depth);
        this.#isExited = true;
        return;
      case 'tail':
        if (args.join(' ') !== '-f /dev/null') throw new UnsupportedCommand();
        this.#ms = Infinity;
        return;
      case 'sh':
      case 'bash':
      case 'ash':
      case 'dash':
        if (redirects.length > 0) throw new UnsupportedCommand();
        return this.#shell(args, depth + 1);
      default:
        throw new UnsupportedCommand();
    }
  }

  #shell([flags = '', script = '']: readonly string[], depth: number): void {
    if (!/^-[eilux]*c$/.test(flags) || depth > maxShellDepth) throw new UnsupportedCommand();
    const commands = parseCommandList(script, name => this.#environment.valueOf(name));
    if (!commands) throw new UnsupportedCommand();
    let before: string = ';';
    for (const {words, redirects, joinedBy} of commands) {
      const isSkipped = (before === '&&' && this.#code !== 0) || (before === '||' && this.#code === 0);
      before = joinedBy;
      if (isSkipped) continue;
      this.command(words, redirects, depth);
      if (flags.includes('e') && this.#code !== 0 && joinedBy === ';') this.#isExited = true;
      if (this.#isExited || this.#ms === Infinity) break;
    }
    this.#isExited = false;
  }

  #sleep(args: readonly string[]): void {
    if (args.length === 0) throw new UnsupportedCommand();
    for (const text of args) this.#ms += sleepMs(text);
  }

  #exit([code = String(this.#code), ...more]: readonly string[]): void {
    if (!/^\d{1,3}$/.test(code) || more.length > 0) throw new UnsupportedCommand();
    this.#code = Number(code) % 256;
    this.#isExited = true;
  }

  #write(text: string, redirects: readonly Redirect[]): void {
    const to = targetOf(redirects);
    if (to === 'stdout' || to === 'stderr') this.output.push({afterMs: this.#ms, text, stream: to});
    else if (to === this.#environment.messagePath) this.#message = (this.#message ?? '') + text;
    else if (to !== '/dev/null') throw new UnsupportedCommand();
  }
}

const outputs: Readonly<Record<string, 'stdout' | 'stderr'>> = {
  '&1': 'stdout',
  '&2': 'stderr',
  '/dev/stdout': 'stdout',
  '/dev/stderr': 'stderr',
};

/** Returns the target of the standard output; redirections apply in order. */
const targetOf = (redirects: readonly Redirect[]): string => {
  const targets: Record<1 | 2, string> = {1: 'stdout', 2: 'stderr'};
  for (const {from, to} of redirects) targets[from] = to === '&1' ? targets[1] : to === '&2' ? targets[2] : (outputs[to] ?? to);
  return targets[1];
};

const units: Readonly<Record<string, number>> = {'': 1000, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000};

/** Returns the duration of an argument of `sleep`. */
const sleepMs = (text: string): number => {
  if (/^inf(inity)?$/i.test(text)) return Infinity;
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?|\.\d+)([smhd]?)$/.exec(text) ?? [];
  if (amount === undefined) throw new UnsupportedCommand();
  return Math.round(Number(amount) * units[unit]!);
};

const escapes: Readonly<Record<string, string>> = {'\\n': '\n', '\\t': '\t', '\\r': '\r', '\\\\': '\\'};

const echoed = (args: readonly string[]): string => {
  let first = 0;
  while (/^-[neE]+$/.test(args[first] ?? '')) first++;
  const flags = args.slice(0, first).join('');
  const text = args.slice(first).join(' ');
  const written = flags.includes('e') ? text.replaceAll(/\\[ntr\\]/g, found => escapes[found]!) : text;
  return flags.includes('n') ? written : `${written}\n`;
};

/**
 * Derives the effect of a command: `sleep`, `true`, `false`, `exit`, `echo`, `tail -f /dev/null`, and lists of these
 * given to a shell with `-c`. Returns undefined for every other command.
 */
export const simulateCommand = (words: readonly string[], environment: CommandEnvironment): CommandOutcome | undefined => {
  const simulator = new CommandSimulator(environment);
  try {
    simulator.command(words, [], 0);
  } catch (error) {
    if (error instanceof UnsupportedCommand) return undefined;
    throw error;
  }
  return simulator.outcome;
};
