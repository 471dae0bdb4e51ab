// What all programs share: flags, help and version, logging, signals, and one line on standard error with exit code 1
// for any failure.

import {channel} from 'node:diagnostics_channel';
import {MessageChannel} from 'node:worker_threads';
import type {VersionInfo} from '#src/api/version.js';
import {systemClock, withErrorHandler, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {firstError, messageOf} from '#src/base/message.js';
import {isJsonError} from '#src/observe/json-format.js';
import {logWriter} from '#src/observe/streams.js';
import type {UnhandledErrors} from '#src/observe/unhandled.js';
import {Verbosity} from '#src/observe/verbosity.js';
import type {FlagRows, FlagTable} from '#src/options/flag.js';
import {helpText} from '#src/options/help.js';
import {OptionError} from '#src/options/option-error.js';
import type {ParsedArguments} from '#src/options/grammar.js';
import {parseAssignments, parseFlags, type Parsed} from '#src/options/parse.js';
import {gateOf, versionInfoOf} from '#src/options/parsed-options.js';
import {boundHeapGrowth} from './heap-growth.js';
import {releaseIdleMemory} from './idle-memory.js';
import {boundNewSpace} from './new-space.js';
import type {handleUncaught} from './uncaught.js';

/** The context of a running program. */
export interface Invocation<R, P extends Parsed<R> = Parsed<R>> {
  readonly parsed: P;
  readonly log: Log;
  /** The machine's clock. Errors of its callbacks are reported, and the program continues. */
  readonly clock: Clock;
  /** Receives errors that have no caller. */
  readonly unhandled: UnhandledErrors;
  /** The log verbosity, which may be changed while the program runs. */
  readonly verbosity: Verbosity;
  readonly version: VersionInfo;
  /** Aborts on SIGTERM or SIGINT. */
  readonly stopping: AbortSignal;
  print(line: string): void;
  /** Prints the line that reports that the program serves: a text after `ready: `, or an object as JSON. */
  ready(what: string | object): void;
}

/**
 * The line that is printed for a failure: its message and the causes that add information, in at least one of their
 * parts. Of an error of disposal, the error before it.
 */
export const oneLine = (error: unknown): string => {
  const messages: string[] = [];
  const codes = new Set<string>();
  for (let at = firstError(error); at !== undefined && messages.length < deepest; at = firstError(causeOf(at))) {
    const parts = partsOf(at);
    const code = codeOf(at);
    // Of an error of the system, what happened is what it adds: the message that it causes has the address.
    const telling = code === undefined ? parts : parts.slice(-1);
    const isKnown = code !== undefined && codes.has(code);
    if (code !== undefined) codes.add(code);
    if (!isKnown && !messages.some(known => telling.every(part => known.includes(part)))) messages.push(messageOf(at));
  }
  return messages
    .join(': ')
    .replaceAll(/\s*\n\s*/g, ' ')
    .trim();
};

/** The parts of a message: of an error of the system, only what happened; of several lines, those of the first. */
const partsOf = (error: unknown): readonly string[] => {
  const message = messageOf(error);
  const {syscall} = (error instanceof Error ? error : {}) as NodeJS.ErrnoException;
  const [, happened] = (syscall === undefined ? undefined : /^[A-Z\d_]+: ([^,]+), /.exec(message)) ?? [];
  if (happened !== undefined) return [happened];
  const [first = ''] = message.split('\n', 1);
  return first.replace(/[:.\s]+$/, '').split(': ');
};

/** The code of an error of the system: `ECONNREFUSED`. */
const codeOf = (error: unknown): string | undefined => {
  const {code} = (error instanceof Error ? error : {}) as NodeJS.ErrnoException;
  return typeof code === 'string' && code.startsWith('E') && !code.startsWith('ERR_') ? code : undefined;
};

/** The maximum depth of nested causes. */
const deepest = 5;

/** The message of an option error is complete; its cause is the library's wording. */
const causeOf = (error: unknown): unknown => (error instanceof Error && !(error instanceof OptionError) ? error.cause : undefined);

const stopOnSignals = (): AbortController => {
  const stopping = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (stopping.signal.aborted) process.exit(1); // A second signal ends the program at once.
      stopping.abort();
    });
  }
  return stopping;
};

interface CommonOptions {
  readonly v?: number;
  readonly loggingFormat?: 'text' | 'json';
  readonly quiet?: boolean;
  readonly vmodule?: readonly string[];
  readonly logTextSplitStream?: boolean;
  readonly logTextInfoBufferSize?: number;
  /** As those of text; only configuration files have them. */
  readonly logJsonSplitStream?: boolean;
  readonly logJsonInfoBufferSize?: number;
  readonly logFlushFrequency?: number;
  /** The file of the log, instead of standard error. */
  readonly logFile?: string;
}

/** Throws an `OptionError` for flags that are incompatible with JSON. */
const checkJson = (parsed: Pick<Parsed<unknown>, 'gates'>, vmodule: readonly string[]): void => {
  if (!gateOf(parsed)('LoggingBetaOptions'))
    throw new OptionError('--logging-format=json requires the feature gate LoggingBetaOptions, which is off');
  if (vmodule.length > 0) throw new OptionError('--vmodule needs --logging-format=text');
};

const takesColour = ({isTTY}: {readonly isTTY: boolean}): boolean => isTTY && !process.env['NO_COLOR'] && process.env['TERM'] !== 'dumb';

/** The destination of a split log; undefined for standard error, written at once. */
const writerOf = (options: CommonOptions, stopping: AbortSignal): ((line: string) => void) | undefined => {
  const isJson = options.loggingFormat === 'json';
  if (!(isJson ? options.logJsonSplitStream : options.logTextSplitStream)) return undefined;
  return logWriter({
    clock: systemClock,
    bufferBytes: (isJson ? options.logJsonInfoBufferSize : options.logTextInfoBufferSize) ?? 0,
    ...(isJson ? {isError: isJsonError} : {}),
    flushMs: options.logFlushFrequency ?? 0,
    out: text => void process.stdout.write(text),
    err: text => void process.stderr.write(text),
    signal: stopping,
  });
};

/**
 * Runs a program: parses its flags, handles `--help` and `--version`, or calls `run`. Any failure ends the process with
 * one line on standard error and exit code 1, as do arguments that are computed and cannot be. When `run` resolves the
 * process ends with its result as the exit code, 0 by default.
 */
export const runProgram = async <R = FlagRows, P extends Parsed<R> = Parsed<R>>(
  table: FlagTable<R>,
  given: readonly string[] | (() => ParsedArguments | Promise<ParsedArguments>),
  run: (invocation: Invocation<R, P>) => Promise<number | void>,
  /** Lays the command line over a configuration file, before there is a log. */
  configure: (parsed: Parsed<R>) => P | Promise<P> = parsed => parsed as P,
): Promise<void> => {
  const print = (line: string) => void process.stdout.write(`${line}\n`);
  const fail = (error: unknown): never => {
    process.stderr.write(`${table.program}: ${oneLine(error)}\n`);
    process.exit(1);
  };
  let fatal: ReturnType<typeof handleUncaught> = () => undefined;
  try {
    const flags = typeof given === 'function' ? parseAssignments(table, await given()) : parseFlags(table, given);
    if (flags.help) return print(helpText(table as never));
    const version = versionInfoOf(flags);
    if (flags.version === 'line') return print(`${table.program} ${version.gitVersion}`);
    if (flags.version === 'raw') return print(JSON.stringify(version));
    const parsed = await configure(flags);
    const {v = 0, vmodule = [], loggingFormat: format = 'text', quiet = false} = parsed.options as CommonOptions;
    if (format === 'json') checkJson(parsed, vmodule);
    // Not needed for help and versions.
    const [{createLog}, {UnhandledErrors}, {handleUncaught}] = await Promise.all([
      import('#src/observe/log.js'),
      import('#src/observe/unhandled.js'),
      import('./uncaught.js'),
    ]);
    const verbosity = new Verbosity(v, vmodule.join(','));
    const stop = stopOnSignals();
    const stopping = stop.signal;
    const {logFile} = parsed.options as CommonOptions;
    const write = logFile ? (await import('./log-file.js')).logFileWriter(logFile) : writerOf(parsed.options as CommonOptions, stopping);
    const log = createLog({
      clock: systemClock,
      program: table.program.replaceAll(' ', '-'),
      verbosity,
      format,
      quiet,
      colour: !write && takesColour(process.stderr),
      ...(write ? {write} : {}),
    });
    const unhandled = new UnhandledErrors(log);
    fatal = handleUncaught({process, clock: systemClock, unhandled, stop: () => stop.abort(), end: fail});
    for (const warning of parsed.warnings) log.warn(warning);
    keepProcessAlive();
    const clock = withErrorHandler(systemClock, unhandled.handle);
    releaseIdleMemory(clock, stopping);
    boundHeapGrowth(clock, stopping);
    boundNewSpace(stopping);
    const ready = (what: string | object) => {
      print(typeof what === 'string' ? `ready: ${what}` : JSON.stringify(what));
      channel('plat.ready').publish({}); // The launcher stores the code cache now, since the engine has compiled the code.
    };
    const code = await run({parsed, log, clock, unhandled, verbosity, version, stopping, print, ready});
    const uncaught = fatal();
    if (uncaught) fail(uncaught.error);
    process.exit(code ?? 0);
  } catch (error) {
    fail(fatal()?.error ?? error);
  }
};

/**
 * Keeps the process alive: the clock's timers do not, and a component that waits for one must not end because of that.
 */
const keepProcessAlive = (): void => {
  new MessageChannel().port1.on('message', () => {}); // A port with a listener keeps the process alive.
};

/** Resolves when the process is stopped. */
export const untilStopped = (stopping: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    if (stopping.aborted) resolve();
    else stopping.addEventListener('abort', () => resolve(), {once: true});
  });
