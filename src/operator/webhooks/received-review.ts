import {badRequest} from '#src/api/status.js';
import {parseJson} from '#src/base/json/json.js';
import {parseInSteps} from '#src/base/json/json-steps.js';
import {messageOf} from '#src/base/message.js';
import {runStepsYielding, type Steps} from '#src/base/steps.js';
import type {Yielder} from '#src/base/turn.js';

/**
 * The most characters of a text of a review that its answer repeats: a uid has 36, an apiVersion no more than a name.
 */
const maxRepeated = 253;

/** Whether a value is a text that an answer may repeat. */
export const isRepeatable = (value: unknown): value is string =>
  typeof value === 'string' && value.length > 0 && value.length <= maxRepeated;

/** The body of a review, which may be large: what is done with it must not block the event loop. */
export class ReceivedReview {
  readonly #body: Buffer;
  readonly #pieces: Yielder;

  constructor(body: Uint8Array, pieces: Yielder) {
    this.#body = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    this.#pieces = pieces;
  }

  /**
   * Returns what the body holds, each time anew: the caller may change it. Rejects with a `StatusError` if it is not
   * JSON.
   */
  parse(): Promise<unknown> {
    return this.#parsed(JSON.parse);
  }

  /** Like `parse`, but whole numbers that a number cannot hold to the digit are bigints. */
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

  /** Runs work with pauses in which others have their turn. */
  inPieces<T>(work: Steps<T>): Promise<T> {
    return runStepsYielding(work, this.#pieces);
  }

  /**
   * Returns a promise to await before going on, once work has lasted as long as it may in one turn; undefined before.
   */
  pause(): Promise<void> | undefined {
    return this.#pieces.pause();
  }
}
