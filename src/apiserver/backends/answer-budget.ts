import {BrokenResponse} from '#src/transport/http1/calls.js';

/** The bytes of responses that one call holds. */
export interface HeldAnswer extends Disposable {
  /** Throws if all calls together would hold too many bytes. */
  add(bytes: number): void;
}

/** Limits the bytes that responses being received or parsed hold together: many webhooks may be called for one request, and many requests at a time. */
export class AnswerBudget {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** How many bytes are held at the moment. */
  get bytes(): number {
    return this.#bytes;
  }

  hold(): HeldAnswer {
    let held = 0;
    return {
      add: bytes => {
        if (this.#bytes + bytes > this.#maxBytes)
          throw new BrokenResponse(`the responses of all webhooks together have more than ${this.#maxBytes} bytes`);
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
