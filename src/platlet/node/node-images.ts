// The images that a node reports.

import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Image} from '#src/platlet/runtime/images.js';
import type {Runtime} from '#src/platlet/runtime/runtime.js';

export interface NodeImagesParts {
  readonly runtime: Pick<Runtime, 'images'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** The time to live of the list. */
const imagesMs = 30_000;

/**
 * Lists the images of the runtime, with a cache that is refreshed in the background: a runtime that does not respond
 * must not hold up the status that says so.
 */
export class NodeImages {
  readonly #parts: NodeImagesParts;
  #images: readonly Image[] | undefined;
  #listedAt = -Infinity;
  #listing: Promise<void> | undefined;

  constructor(parts: NodeImagesParts) {
    this.#parts = parts;
  }

  /** Returns the last list of images, and waits for one as long as there is none; undefined if the attempt fails. */
  async current(): Promise<readonly Image[] | undefined> {
    if (this.#parts.clock.monotonic() >= this.#listedAt + imagesMs) this.#listing ??= this.#list();
    if (!this.#images) await this.#listing;
    return this.#images;
  }

  async #list(): Promise<void> {
    const {runtime, clock, log} = this.#parts;
    try {
      this.#images = await runtime.images();
      this.#listedAt = clock.monotonic();
    } catch (error) {
      log.error({err: error}, 'failed to list the images of the node');
    } finally {
      this.#listing = undefined;
    }
  }
}
