// The behavior of a simulated container according to rules: start, end, probes, usage, ports, commands and log.

import type {Pattern} from './pattern.js';
import type {LogEntry} from './log-entry.js';

/** A range of durations in ms, uniformly distributed. Infinity: never. */
export interface DurationRange {
  readonly min: number;
  readonly max: number;
}

/** An amount, or a fraction of the request. */
export type UsageSetting = {readonly amount: number} | {readonly ofRequest: number};

/** The response to commands executed in a container. */
export interface ExecRule {
  /** Patterns of command lines, or of shell scripts. Absent: every command matches. */
  readonly commands?: readonly Pattern[];
  readonly stdout?: string;
  readonly stderr?: string;
  /** Whether it copies its input to its output, last of all. */
  readonly echo: boolean;
  readonly exitCode: number;
  /** The delay before the response. */
  readonly afterMs: number;
}

/**
 * The server at a port: echoes its input, or every HTTP request; refuses connections; replies with a text and closes;
 * or gives every HTTP request the same response.
 */
export type PortRule =
  | 'echo'
  | 'http-echo'
  | 'refuse'
  | {readonly reply: string}
  | {readonly status: number; readonly body: string; readonly type: string};

/** The reader of attached input: echoes it into the log, or runs a shell. */
export type StdinRule = 'echo' | 'shell';

/** The behavior of a container; settings that a rule leaves out come from later rules. */
export interface Settings {
  /** From the pod's admission to its sandbox; nothing runs earlier. Applies to the whole pod. */
  readonly startAfter?: DurationRange;
  /** The pull duration of an image that is not present. */
  readonly pullFor?: DurationRange;
  /** The error with which a pull fails. */
  readonly pullError?: string;
  /** From the container's start until it counts as started. Defaults to the timing of its startup probe. */
  readonly startedAfter?: DurationRange;
  /** From the container's start until it is ready. Defaults to the timing of its readiness probe. */
  readonly readyAfter?: DurationRange;
  /** From the container's start to its end. */
  readonly runFor?: DurationRange;
  /** The exit codes of successive runs; the last one applies to all further runs. */
  readonly exitCodes?: readonly number[];
  /** Defaults to `Completed` or `Error` by the exit code. */
  readonly exitReason?: string;
  readonly exitMessage?: string;
  /** From the stop signal to the exit; the container is killed after the grace period. */
  readonly stopAfter?: DurationRange;
  /** The exit code of a stopped container. */
  readonly stopExitCode?: number;
  /** The log entries. */
  readonly log?: readonly LogEntry[];
  /** The first rule that matches a command applies. */
  readonly exec?: readonly ExecRule[];
  /** Contents of files by path. */
  readonly files?: Readonly<Record<string, string>>;
  readonly ports?: Readonly<Record<string, PortRule>>;
  readonly stdin?: StdinRule;
  /** In millicores. */
  readonly cpu?: UsageSetting;
  /** In bytes. */
  readonly memory?: UsageSetting;
}

type Required = 'startAfter' | 'pullFor' | 'runFor' | 'exitCodes' | 'stopAfter' | 'stopExitCode' | 'log' | 'cpu' | 'memory';

/** The complete behavior of a container. */
export type Behavior = Settings & {readonly [K in Required]-?: NonNullable<Settings[K]>};

export const exactly = (ms: number): DurationRange => ({min: ms, max: ms});
export const never: DurationRange = exactly(Infinity);

/**
 * Maps a text to a number in [0, 1) (FNV-1a, mixed), so that random choices are repeatable across restarts and
 * independent of the order of events.
 */
const hashFraction = (text: string): number => {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
};

/** Returns a duration within the range, the same for the same text. */
export const drawDuration = ({min, max}: DurationRange, text: string): number =>
  min === max ? min : Math.round(min + (max - min) * hashFraction(text));
