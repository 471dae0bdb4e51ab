import {pino, type Logger} from 'pino';
import type {Clock} from '#src/base/clock.js';
import {lazily} from '#src/base/lazily.js';
import {noLog, type Log, type LogFields, type LogMethod} from '#src/base/log.js';
import {jsonLine} from './json-format.js';
import {coloured, errorText, textLine, type Line} from './text-format.js';
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

/** Fields whose values are redacted, in the first three levels. */
const secretFields = [
  'token',
  'password',
  'secret',
  'authorization',
  'privateKey',
  'private_key',
  'keyData',
  'idToken',
  'refreshToken',
  'stringData',
];
const secretPaths = secretFields.flatMap(name => [name, `*.${name}`, `*.*.${name}`]);

/** Carries the level of `v` to the line. */
const verbosityField = '_v';

type PinoLine = {level: number; time: number; msg?: string; component?: string; [verbosityField]?: number} & LogFields;

const severities: Readonly<Record<number, 'I' | 'W' | 'E'>> = {30: 'I', 40: 'W', 50: 'E'};

const textWriter =
  (colour: boolean) =>
  (line: Line): string =>
    colour ? coloured(textLine(line), line.severity) : textLine(line);

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
  const lineOf = format === 'json' ? jsonLine : textWriter(colour);
  const destination = write ? {write} : standardError();
  const formatted = {
    write(json: string) {
      const {level, time, msg, component = program, [verbosityField]: v = 0, ...fields} = JSON.parse(json) as PinoLine;
      destination.write(
        lineOf({severity: severities[level] ?? 'I', verbosity: v, timeMs: time, pid, source: component, message: msg ?? '', fields}),
      );
    },
  };
  const logger = pino(
    {
      base: null,
      level: quiet ? 'error' : 'info',
      timestamp: () => `,"time":${clock.now()}`,
      serializers: {err: errorText},
      redact: {paths: secretPaths, censor: '[redacted]'},
    },
    formatted,
  );
  return over(() => logger, verbosity, program);
};

/** The maximum number of bytes buffered for a blocked standard error. */
const maxPending = 1 << 20;

/** A line that cannot be written is lost, without further effect. */
const standardError = (): {write(line: string): unknown} =>
  pino.destination({fd: 2, sync: true, maxLength: maxPending}).on('error', () => {});

/** A component's logger is created with its first line, since most log nothing at start. */
const over = (logger: () => Logger, verbosity: Verbosity, source: string): Log => {
  const details: Log[] = [];
  const detail = (level: number): Log =>
    (details[level] ??= over(
      lazily(() => logger().child({[verbosityField]: level})),
      verbosity,
      source,
    ));
  const log: Log = {
    info: lines(logger, 'info'),
    warn: lines(logger, 'warn'),
    error: lines(logger, 'error'),
    v: level => (!verbosity.reaches(level, source) ? noLog : level > 0 ? detail(level) : log),
    child: fields =>
      over(
        lazily(() => logger().child(fields)),
        verbosity,
        typeof fields.component === 'string' ? fields.component : source,
      ),
  };
  return log;
};

const lines =
  (logger: () => Logger, level: 'info' | 'warn' | 'error'): LogMethod =>
  (...line: Parameters<LogMethod> | [string]) =>
    (logger()[level] as (...what: typeof line) => void)(...line);
