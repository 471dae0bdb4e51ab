import {AgentError} from '#src/api/node/agent.js';

/** The limit of the outputs of all commands at a time. */
const usualMaxBytes = 64 << 20;

/** Limits the bytes that the outputs of commands keep together until they are sent. */
export class OutputBudget {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes = usualMaxBytes) {
    this.#maxBytes = maxBytes;
  }

  /** Begins to count the output of a command, which counts until it is disposed of. */
  hold(): HeldOutput {
    let held = 0;
    return {
      add: bytes => {
        if (this.#bytes + bytes > this.#maxBytes) throw new AgentError(503, 'too many bytes of output of commands are waiting\n');
        held += bytes;
        this.#bytes += bytes;
      },
      [Symbol.dispose]: () => {
        this.#bytes -= held;
        held = 0;
      },
    };
  }
}

/** The output that one request keeps. */
export interface HeldOutput extends Disposable {
  /** Throws if all commands together would keep too many bytes. */
  add(bytes: number): void;
}
