import {badRequest} from '#src/api/status.js';
import {parseJson} from '#src/base/json/json.js';
import {parseInSteps} from '#src/base/json/json-steps.js';
import {messageOf} from '#src/base/message.js';
import {runStepsYielding, type Steps} from '#src/base/steps.js';
import type {Yielder} from '#src/base/turn.js';

/**
 * The maximum length of a text that a response repeats: a uid has 36 characters, an apiVersion at most those of a name.
 */
const maxRepeated = 253;

/** Whether a value is a text that a response may repeat. */
export const isRepeatable = (value: unknown): value is string =>
  typeof value === 'string' && value.length > 0 && value.length <= maxRepeated;

/** The body of a review, which may be large: processing it must not block the event loop. */
export class ReceivedReview {
  readonly #body: Buffer;
  readonly #pieces: Yielder;

  constructor(body: Uint8Array, pieces: Yielder) {
    this.#body = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    this.#pieces = pieces;
  }

  /**
   * Parses the body, anew at each call: the caller may change the result. Rejects with a `StatusError` if it is not
   * JSON.
   */
  parse(): Promise<unknown> {
    return this.#parsed(JSON.parse);
  }

  /** Like `parse`, but integers beyond 2^53 are bigints. */
  parseExactly(): Promise<unknown> {
    return this.#parsed(parseJson);
  }

  async #parsed(parse: (text: string) => unknown): Promise<unknown> {
    try {
      return await this.inPieces(parseInSteps(this.#body, {parse}));
    } catch (cause) {
      throw badRequest(`the review is not JSON: ${messageOf(cause)}`, cause);
    }
  }

  /** Runs work in slices and yields in between. */
  inPieces<T>(work: Steps<T>): Promise<T> {
    return runStepsYielding(work, this.#pieces);
  }

  /** Returns a promise to await if the current slice is over; undefined otherwise. */
  pause(): Promise<void> | undefined {
    return this.#pieces.pause();
  }
}
