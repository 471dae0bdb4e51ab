import type {Meter} from '#src/base/meter.js';
import {BrokenResponse} from '#src/transport/http1/calls.js';

/** The bytes of responses that one call holds. */
export interface HeldResponse extends Disposable {
  /** Throws if all calls together would hold too many bytes. */
  add(bytes: number): void;
}

/** The limit of all responses of webhooks at a time. */
const maxAllBytes = 64 * 1024 * 1024;

/**
 * Limits the bytes that responses being received or parsed hold together: many webhooks may be called for one request,
 * and many requests at a time.
 */
export class ResponseBudget {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes = maxAllBytes) {
    this.#maxBytes = maxBytes;
  }

  /** Shows the bytes and their limit as metrics. */
  observe(meter: Meter): void {
    meter.observed(
      {name: 'apiserver_webhook_response_bytes', help: 'Bytes of responses of webhooks that are being received or parsed.'},
      () => [[{}, this.#bytes]],
    );
    meter.observed({name: 'apiserver_webhook_response_limit_bytes', help: 'The most bytes of responses of webhooks at a time.'}, () => [
      [{}, this.#maxBytes],
    ]);
  }

  /** How many bytes are held at the moment. */
  get bytes(): number {
    return this.#bytes;
  }

  hold(): HeldResponse {
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
