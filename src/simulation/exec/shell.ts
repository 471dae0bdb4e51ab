import {sleep} from '#src/base/clock.js';
import {simulateCommand} from '#src/simulation/command/outcome.js';
import {parseCommandList, type Redirect, type SimpleCommand} from '#src/simulation/command/shell.js';
import {NoSpace} from '#src/simulation/files/files.js';
import type {ExecRule} from '#src/simulation/rules/behavior.js';
import {resolvePath, type CommandContext, type CommandIo} from './context.js';
import {lineReader} from './lines.js';
import {programs} from './programs.js';

/** The exit code of a command that was not found. */
const cannotExecuteCode = 126;
const maxShellDepth = 4;
const shells = new Set(['sh', 'bash', 'ash', 'dash']);

/** `exits` is set if the shell exits, by `exit` or `exec`. */
interface Result {
  readonly code: number;
  readonly exits: boolean;
}

const exitResult = (code: number): Result => ({code, exits: false});

const baseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** Returns the script in the arguments of a shell. */
const scriptOf = ([name = '', flags = '', script]: readonly string[]): string | undefined =>
  shells.has(baseName(name)) && /^-[eilux]*c$/.test(flags) ? script : undefined;

const matchingRule = ({rules}: CommandContext, words: readonly string[]): ExecRule | undefined => {
  const texts = [words.join(' '), scriptOf(words) ?? []].flat();
  return rules.find(({commands}) => !commands || texts.some(text => commands.some(pattern => pattern.test(text))));
};

const runByRule = async (
  {stdout, stderr, exitCode, afterMs, echo}: ExecRule,
  io: CommandIo,
  {clock, signal, expand}: CommandContext,
): Promise<number> => {
  if (afterMs > 0) await sleep(clock, afterMs, signal);
  if (stdout !== undefined) await io.out(expand(stdout));
  if (stderr !== undefined) await io.err(expand(stderr));
  if (echo) for await (const chunk of (io.stdin ?? []) as AsyncIterable<Buffer>) await io.out(chunk);
  return exitCode;
};

/** Writes the derived output of a command at its times. Returns undefined if it cannot be derived. */
const runSimulated = async (
  words: readonly string[],
  io: CommandIo,
  {clock, signal, environment}: CommandContext,
): Promise<number | undefined> => {
  const outcome = simulateCommand(words, environment);
  if (!outcome) return undefined;
  let passedMs = 0;
  const until = async (ms: number) => {
    if (ms > passedMs) await (ms === Infinity ? rejectOnAbort(signal) : sleep(clock, ms - passedMs, signal));
    passedMs = ms;
  };
  for (const {afterMs, text, stream} of outcome.output) {
    await until(afterMs);
    await (stream === 'stdout' ? io.out(text) : io.err(text));
  }
  await until(outcome.durationMs);
  return outcome.exitCode;
};

const rejectOnAbort = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const fail = () => reject(signal.reason as Error);
    if (signal.aborted) fail();
    else signal.addEventListener('abort', fail, {once: true});
  });

/** Applies redirections; output to a file is stored by `finish`. */
const withRedirects = (
  redirects: readonly Redirect[],
  io: CommandIo,
  context: CommandContext,
): {readonly io: CommandIo; finish(): void} => {
  type Sink = (content: string | Buffer) => Promise<void>;
  const fileContents = new Map<string, Buffer[]>();
  const named: Readonly<Record<string, Sink>> = {
    '/dev/null': () => Promise.resolve(),
    '/dev/stdout': io.out,
    '/dev/stderr': content => io.err(content.toString()),
  };
  const sinks: Record<1 | 2, Sink> = {1: io.out, 2: content => io.err(content.toString())};
  for (const {from, to} of redirects) {
    if (to === '&1' || to === '&2') sinks[from] = sinks[to === '&1' ? 1 : 2];
    else if (Object.hasOwn(named, to)) sinks[from] = named[to]!;
    else {
      const pieces: Buffer[] = [];
      fileContents.set(resolvePath(context, to), pieces);
      sinks[from] = async content => void pieces.push(Buffer.from(content));
    }
  }
  return {
    io: {...io, out: sinks[1], err: sinks[2]},
    finish() {
      for (const [path, pieces] of fileContents)
        context.files.put(path, {content: Buffer.concat(pieces), mode: 0o644, modifiedAt: context.clock.now()});
    },
  };
};

const runSimpleCommand = async (
  {words, redirects}: SimpleCommand,
  io: CommandIo,
  context: CommandContext,
  depth: number,
): Promise<Result> => {
  const [name = '', ...args] = words;
  if (name === 'exec' && args.length > 0)
    return {...(await runSimpleCommand({words: args, redirects, joinedBy: ';'}, io, context, depth)), exits: true};
  if (redirects.length === 0) return exitResult(await runCommand(words, io, context, depth));
  const target = withRedirects(redirects, io, context);
  const code = await runCommand(words, target.io, context, depth);
  return exitResult(
    await reportNoSpace(name, io, () => {
      target.finish();
      return Promise.resolve(code);
    }),
  );
};

/** Runs a list of commands. The result says whether it ended the shell. */
const runList = async (commands: readonly SimpleCommand[], io: CommandIo, context: CommandContext, depth: number): Promise<Result> => {
  let code = 0;
  let before = ';';
  for (const command of commands) {
    const isSkipped = (before === '&&' && code !== 0) || (before === '||' && code === 0);
    before = command.joinedBy;
    if (isSkipped) continue;
    const [name, exitCode = code] = command.words;
    if (name === 'exit') return {code: Number(exitCode) % 256 || 0, exits: true};
    const result = await runSimpleCommand(command, io, context, depth);
    if (result.exits) return result;
    code = result.code;
  }
  return exitResult(code);
};

const reportUnsupported = async (words: readonly string[], io: CommandIo, {name}: CommandContext): Promise<number> => {
  await io.err(
    `${name} is simulated and does not run ${JSON.stringify(words.join(' '))}: what commands answer is said by "exec" in a simulation rule or in the behavior annotation\n`,
  );
  return cannotExecuteCode;
};

/**
 * Runs a command in a simulated container: by a rule, else by its derived effect. Resolves with its exit code; rejects
 * when the signal aborts.
 */
export const runCommand = async (words: readonly string[], io: CommandIo, context: CommandContext, depth = 0): Promise<number> => {
  context.signal.throwIfAborted();
  const rule = matchingRule(context, words);
  if (rule) return runByRule(rule, io, context);
  const [name = '', ...args] = words;
  const script = scriptOf(words);
  if (script !== undefined && depth < maxShellDepth) {
    const commands = parseCommandList(script, variable => context.environment.valueOf(variable));
    return commands ? (await runList(commands, io, context, depth + 1)).code : reportUnsupported(words, io, context);
  }
  if (shells.has(baseName(name)) && args.length === 0) return runShell(io, context, depth + 1);
  return reportNoSpace(baseName(name), io, async () => {
    const code = (await programs.get(baseName(name))?.(args, io, context)) ?? (await runSimulated(words, io, context));
    return code ?? reportUnsupported(words, io, context);
  });
};

const reportNoSpace = async (name: string, io: CommandIo, run: () => Promise<number>): Promise<number> => {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof NoSpace)) throw error;
    await io.err(`${name}: No space left on device\n`);
    return 1;
  }
};

/**
 * Runs commands from the input, line by line, until the input ends or one of them is `exit`. On a terminal it shows a
 * prompt.
 */
export const runShell = async (io: CommandIo, context: CommandContext, depth = 0): Promise<number> => {
  let code = 0;
  // The input belongs to this shell: a command that reads it would consume the following lines.
  const inner: CommandIo = {...io, stdin: undefined};
  const prompt = io.tty ? `${context.workingDirectory} # ` : '';
  await io.out(prompt);
  for await (const line of lineReader(io)) {
    const commands = parseCommandList(line, variable => (variable === '' ? undefined : context.environment.valueOf(variable)));
    const result = commands ? await runList(commands, inner, context, depth) : exitResult(await reportUnsupported([line], io, context));
    code = commands?.length === 0 ? code : result.code;
    if (result.exits) return code;
    await io.out(prompt);
  }
  return code;
};
