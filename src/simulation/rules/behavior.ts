import type {LogEntry} from '#src/simulation/log/entry.js';

/** A time in ms: as it stands where both are the same, else drawn evenly between them. Infinity: never. */
export interface DurationRange {
  readonly min: number;
  readonly max: number;
}

/** An amount, or a part of what the container requests. */
export type UsageSetting = {readonly amount: number} | {readonly ofRequest: number};

/** What commands that are executed in a container answer. */
export interface ExecRule {
  /** Which commands: their words with blanks between them, or the script of a shell. Every command unless given. */
  readonly commands?: readonly RegExp[];
  readonly stdout?: string;
  readonly stderr?: string;
  /** Gives back what it is fed, behind all else. */
  readonly echo: boolean;
  readonly exitCode: number;
  /** How long it takes before it answers anything. */
  readonly afterMs: number;
}

/** Who listens at a port: one who gives back what he is sent, one who says something and leaves, or one who answers every request over HTTP alike. */
export type PortRule = 'echo' | 'refuse' | {readonly reply: string} | {readonly status: number; readonly body: string; readonly type: string};

/** What reads what is typed to a container that is attached: one who says it again into the log, or a shell. */
export type StdinRule = 'echo' | 'shell';

/** How a container behaves; what a rule leaves out, later rules say. */
export interface Settings {
  /** From the pod's admission to its sandbox: nothing runs before. Counts for the pod as a whole. */
  readonly startAfter?: DurationRange;
  /** How long an image takes that the node does not have. */
  readonly pullFor?: DurationRange;
  /** The image cannot be pulled, with this text as the runtime's. */
  readonly pullError?: string;
  /** From the container's start to when it counts as started; by its startup probe unless given. */
  readonly startedAfter?: DurationRange;
  /** From the container's start to when it is ready; by its readiness probe unless given. */
  readonly readyAfter?: DurationRange;
  /** From the container's start to its end. */
  readonly runFor?: DurationRange;
  /** The codes of one run after another; the last counts for all that follow. */
  readonly exitCodes?: readonly number[];
  /** `Completed` or `Error` by the code unless given. */
  readonly exitReason?: string;
  readonly exitMessage?: string;
  /** From being asked to end to ending; past the grace period the container is killed. */
  readonly stopAfter?: DurationRange;
  /** The code of a container that ended because it was asked to. */
  readonly stopExitCode?: number;
  /** What it writes into its log. */
  readonly log?: readonly LogEntry[];
  /** The first of them counts that fits a command. */
  readonly exec?: readonly ExecRule[];
  /** Texts of files by their paths. */
  readonly files?: Readonly<Record<string, string>>;
  readonly ports?: Readonly<Record<string, PortRule>>;
  readonly stdin?: StdinRule;
  /** Thousandths of a core. */
  readonly cpu?: UsageSetting;
  /** Bytes. */
  readonly memory?: UsageSetting;
}

type Required = 'startAfter' | 'pullFor' | 'runFor' | 'exitCodes' | 'stopAfter' | 'stopExitCode' | 'log' | 'cpu' | 'memory';

/** Everything that is to be known of a container. */
export type Behavior = Settings & {readonly [K in Required]-?: NonNullable<Settings[K]>};

export const exactly = (ms: number): DurationRange => ({min: ms, max: ms});
export const never: DurationRange = exactly(Infinity);

/** A number in [0, 1) that a text stands for (FNV-1a, mixed): chance that a restart and another order of events repeat. */
const hashFraction = (text: string): number => {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
};

/** A time within the spread, the same for the same text. */
export const drawFrom = ({min, max}: DurationRange, text: string): number => (min === max ? min : Math.round(min + (max - min) * hashFraction(text)));
