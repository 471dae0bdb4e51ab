// Tells the container runtime from which ranges the pods of the node have their addresses.

import type {Log} from '#src/base/log.js';
import type {Runtime} from '#src/platlet/runtime/runtime.js';

/** The ranges that the runtime was told last. */
export class PodRanges {
  readonly #runtime: Pick<Runtime, 'updatePodCidr'>;
  readonly #log: Log;
  #told = '';

  constructor(runtime: Pick<Runtime, 'updatePodCidr'>, log: Log) {
    this.#runtime = runtime;
    this.#log = log;
  }

  /** Tells the runtime the ranges if they are others than before. Returns whether they are. A failure is logged. */
  async update(ranges: readonly string[]): Promise<boolean> {
    const text = ranges.join(',');
    if (text === this.#told) return false;
    try {
      await this.#runtime.updatePodCidr(text);
      this.#told = text;
    } catch (error) {
      this.#log.error({err: error, ranges: text}, 'error updating the pod CIDR of the runtime');
    }
    return true;
  }
}
