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

/** Lists the images of the runtime, with a cache. */
export class NodeImages {
  readonly #parts: NodeImagesParts;
  #images: readonly Image[] | undefined;
  #listedAt = -Infinity;

  constructor(parts: NodeImagesParts) {
    this.#parts = parts;
  }

  /** Returns the images of the node; undefined if no list has succeeded. */
  async current(): Promise<readonly Image[] | undefined> {
    const {runtime, clock, log} = this.#parts;
    if (clock.monotonic() < this.#listedAt + imagesMs) return this.#images;
    try {
      this.#images = await runtime.images();
      this.#listedAt = clock.monotonic();
    } catch (error) {
      log.error({err: error}, 'failed to list the images of the node');
    }
    return this.#images;
  }
}
