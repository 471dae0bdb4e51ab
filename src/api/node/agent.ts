// The interface of a node's agent: logs, commands, ports and metrics of its pods. The HTTP handler of agents
// (`src/serving/agent`) calls it, and the simulation implements it.

import type {Duplex, Readable, Writable} from 'node:stream';
import type {Frozen} from '#src/api/key.js';
import type {ContainerProbes, NodeStats} from './stats.js';
import type {Pod} from '#src/api/pod.js';

/** The address of a container in a request to a node agent. */
export interface ContainerAddress {
  readonly namespace: string;
  readonly pod: string;
  /** Absent for the pod of the name, whichever it is. */
  readonly uid?: string;
  readonly container: string;
}

export type LogStream = 'All' | 'Stdout' | 'Stderr';

/** The options of a log request. */
export interface LogQuery {
  /** Follows the log until the container ends. */
  readonly follow: boolean;
  /** The log of the previous run of the container. */
  readonly previous: boolean;
  readonly timestamps: boolean;
  /** In ms since the epoch. */
  readonly since?: number;
  readonly tailLines?: number;
  readonly limitBytes?: number;
  readonly stream: LogStream;
}

/** The streams of a command; those not requested are absent. */
export interface CommandStreams {
  readonly stdin?: Readable | undefined;
  readonly stdout?: Writable | undefined;
  readonly stderr?: Writable | undefined;
  /** Whether the command has a terminal: then all output is on `stdout`. */
  readonly tty: boolean;
  /** The sizes of the terminal, in order; absent where the client cannot send any. */
  readonly sizes?: AsyncIterable<TerminalSize> | undefined;
}

/** The size of a terminal in characters. */
export interface TerminalSize {
  readonly width: number;
  readonly height: number;
}

/**
 * Runs a command in a container with the given streams. Resolves with an exit code once all output is written; ends
 * soon after the signal aborts.
 */
export type RunCommand = (streams: CommandStreams, signal: AbortSignal) => Promise<number>;

/** An error response of an agent, with its code and text. */
export class AgentError extends Error {
  override readonly name = 'AgentRefusal';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** The API of a node agent. Methods throw or reject with an `AgentError` for pods or containers that do not exist. */
export interface NodeAgent {
  /**
   * Returns the text of a log in pieces; ends soon after the signal aborts. Throws when called, not when the text is
   * read.
   */
  logs(of: ContainerAddress, query: LogQuery, signal: AbortSignal): LogText | Promise<LogText>;
  /** Prepares a command in a container. Throws when called. */
  exec(of: ContainerAddress, command: readonly string[]): RunCommand | Promise<RunCommand>;
  /**
   * Attaches to the main process of a container. Throws when called; the run resolves when the process or its input has
   * ended.
   */
  attach(of: ContainerAddress): RunCommand | Promise<RunCommand>;
  /**
   * Returns a function that connects to a port of a pod. Throws when called; a connection that cannot be made rejects.
   */
  listener(pod: Omit<ContainerAddress, 'container'>, port: number): (connection: Duplex) => void | Promise<void>;
  /** The pods of the node, as its agent sees them. */
  pods(): readonly Frozen<Pod>[];
  stats(): NodeStats | Promise<NodeStats>;
  /** The results of probes. Without it they are those of `stats`. */
  readonly probes?: () => readonly ContainerProbes[];
  /** The configuration in effect, by the original's field names. */
  configuration(): Readonly<Record<string, unknown>>;
  /** The pods with running containers, as the runtime knows them. Without it they are found by their measurements. */
  readonly runningPods?: () => Promise<readonly Frozen<Pod>[]>;
  /**
   * Writes the state of a container into an archive on the node. Returns the path of the archive. `timeout`: in
   * seconds, as the request has it.
   */
  readonly checkpoint?: (of: ContainerAddress, timeout: string | undefined) => Promise<string>;
  /** Why the agent does not work; undefined if it does. An agent without this check always does. */
  readonly healthProblem?: () => string | undefined;
}

/** The text of a log, in pieces that may end within a character. */
export type LogText = AsyncIterable<string | Uint8Array>;
