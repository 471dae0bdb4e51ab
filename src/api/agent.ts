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

/** Something that an agent does not do: with the code and the text of its answer. */
export class AgentRefusal extends Error {
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
}
