import type {Duplex, Readable, Writable} from 'node:stream';
import type {Frozen} from './key.js';
import type {NodeStats} from './node-stats.js';
import type {Pod} from './pod.js';

/** A container of a pod, as a request to a node's agent names it. */
export interface ContainerAddress {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

export type LogStream = 'All' | 'Stdout' | 'Stderr';

/** What of a log is wanted. */
export interface LogQuery {
  /** Goes on until the container has ended. */
  readonly follow: boolean;
  /** The log of the run before this one. */
  readonly previous: boolean;
  readonly timestamps: boolean;
  /** In ms since the epoch. */
  readonly since?: number;
  readonly tailLines?: number;
  readonly limitBytes?: number;
  readonly stream: LogStream;
}

/** The streams of a command; those that nobody wants are absent. */
export interface CommandStreams {
  readonly stdin?: Readable | undefined;
  readonly stdout?: Writable | undefined;
  readonly stderr?: Writable | undefined;
  /** The command has a terminal: then its output comes on `stdout` alone. */
  readonly tty: boolean;
}

/** Something in a container that is ready to take its streams. Resolves with an exit code once all output is written; ends soon after the signal aborts. */
export type RunCommand = (streams: CommandStreams, signal: AbortSignal) => Promise<number>;

/** Something that an agent does not do: with the code and the text of its answer. */
export class AgentError extends Error {
  override readonly name = 'AgentRefusal';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** What the agent of one node answers about its pods. Every method throws or rejects with an `AgentRefusal` for what is not there. */
export interface NodeAgent {
  /** The text of a log, in pieces; ends soon after the signal aborts. Refuses at once, not when the text is read. */
  logs(of: ContainerAddress, query: LogQuery, signal: AbortSignal): AsyncIterable<string>;
  /** A command in a container. Refuses at once. */
  exec(of: ContainerAddress, command: readonly string[]): RunCommand;
  /** What a container runs. Refuses at once; resolves when that has ended, or when there is nothing more to say to it. */
  attach(of: ContainerAddress): RunCommand;
  /** Who listens at a port of a pod, to be given connections. Refuses at once. */
  listener(pod: Omit<ContainerAddress, 'container'>, port: number): (connection: Duplex) => void;
  /** The pods of the node, as its agent sees them. */
  pods(): readonly Frozen<Pod>[];
  stats(): NodeStats;
  /** The configuration in effect, by the original's field names. */
  configuration(): Readonly<Record<string, unknown>>;
}
