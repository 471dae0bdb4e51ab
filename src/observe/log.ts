// The log of a program: pino's levels and destination. Of pino's child loggers the method for the text of a line is
// replaced (`pino.symbols.asJsonSym`), so that a line is formatted once, in klog's form. Secrets are redacted here:
// pino's own redaction took 17 of 18 µs a line, and reached three levels.

import {pino, type Logger} from 'pino';
import type {Clock} from '#src/base/clock.js';
import {lazily} from '#src/base/lazily.js';
import {noLog, type Log, type LogFields, type LogMethod} from '#src/base/log.js';
import {jsonFormat} from './json-format.js';
import {fieldsText, type SafeStringify} from './log-fields.js';
import {colouredFormat, textFormat, type Line, type LineFormat} from './text-format.js';
import {Verbosity} from './verbosity.js';

export interface LogOptions {
  readonly clock: Pick<Clock, 'now'>;
  /** The program, the source of lines without a component. */
  readonly program: string;
  readonly pid?: number;
  readonly verbosity?: Verbosity;
  /** The format of lines: text unless given. */
  readonly format?: 'text' | 'json';
  /** Whether warnings and errors are coloured, for a terminal. */
  readonly colour?: boolean;
  /** Whether only errors are written. */
  readonly quiet?: boolean;
  /** Writes one line with its newline: synchronously to standard error unless given. */
  readonly write?: (line: string) => void;
}

const severities: Readonly<Record<number, Line['severity']>> = {30: 'I', 40: 'W', 50: 'E'};

const {asJsonSym, stringifySafeSym} = pino.symbols;

/** Returns a log in klog's text format, or in JSON. */
export const createLog = ({
  clock,
  program,
  pid = process.pid,
  verbosity = new Verbosity(),
  format = 'text',
  colour = false,
  quiet = false,
  write,
}: LogOptions): Log => {
  const logger = pino({base: null, level: quiet ? 'error' : 'info', timestamp: false}, write ? {write} : standardError());
  const lineFormat = format === 'json' ? jsonFormat : colour ? colouredFormat : textFormat;
  return over({logger, format: lineFormat, verbosity, now: () => clock.now(), pid}, {source: program, level: 0, fields: {}});
};

/** What all logs of a program share. */
interface LogCore {
  readonly logger: Logger;
  readonly format: LineFormat;
  readonly verbosity: Verbosity;
  readonly now: () => number;
  readonly pid: number;
}

/** What every line of a log has. */
interface LogScope {
  readonly source: string;
  /** The verbosity of its lines. */
  readonly level: number;
  readonly fields: LogFields;
}

/**
 * Returns pino's logger for a scope, with its own method for the text of a line: the scope's fields are formatted once.
 */
const scopedLogger = ({logger, format, now, pid}: LogCore, {source, level: verbosity, fields: common}: LogScope): Logger => {
  const stringifySafe = (logger as unknown as Record<symbol, SafeStringify>)[stringifySafeSym]!;
  const commonText = fieldsText(common, format, stringifySafe);
  const textOf = (fields: LogFields): string =>
    Object.keys(fields).some(name => Object.hasOwn(common, name))
      ? fieldsText({...common, ...fields}, format, stringifySafe)
      : commonText + fieldsText(fields, format, stringifySafe);
  return Object.assign(logger.child({}), {
    [asJsonSym]: ({component: lineSource = source, ...fields}: LogFields, message: string, level: number): string =>
      format.line({severity: severities[level] ?? 'I', verbosity, timeMs: now(), pid, source: String(lineSource), message}, textOf(fields)),
  });
};

/** The maximum number of bytes buffered for a blocked standard error. */
const maxPending = 1 << 20;

/** A line that cannot be written is lost, without further effect. */
const standardError = (): {write(line: string): unknown} =>
  pino.destination({fd: 2, sync: true, maxLength: maxPending}).on('error', () => {});

/** The logger of a scope is created with its first line, since most components log nothing at start. */
const over = (core: LogCore, scope: LogScope): Log => {
  const {verbosity} = core;
  const logger = lazily(() => scopedLogger(core, scope));
  const details: Log[] = [];
  const log: Log = {
    info: lines(logger, 'info'),
    warn: lines(logger, 'warn'),
    error: lines(logger, 'error'),
    v(level) {
      if (!verbosity.reaches(level, scope.source)) return noLog;
      return level > 0 ? (details[level] ??= over(core, {...scope, level})) : log;
    },
    child({component = scope.source, ...fields}) {
      return over(core, {...scope, source: String(component), fields: {...scope.fields, ...fields}});
    },
  };
  return log;
};

const lines =
  (logger: () => Logger, level: 'info' | 'warn' | 'error'): LogMethod =>
  (...line: Parameters<LogMethod> | [string]) =>
    (logger()[level] as (...what: typeof line) => void)(...line);
