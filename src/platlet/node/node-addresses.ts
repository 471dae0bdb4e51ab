// The addresses of a node, as its agent finds them.

import type {Frozen} from '#src/api/key.js';
import type {Node} from '#src/api/types.js';
import type {Log} from '#src/base/log.js';
import type {NodeAddress} from './addresses.js';

export interface NodeAddressesParts {
  /** Returns the addresses of the machine as they are now. Rejects if it has none. */
  find(): Promise<readonly NodeAddress[]>;
  /** Returns the Node as the API server has it; undefined while there is none. */
  registered(): Frozen<Node> | undefined;
  readonly log: Log;
}

/** Finds the addresses of the machine, and keeps them. */
export class NodeAddresses {
  readonly #parts: NodeAddressesParts;
  #found: readonly NodeAddress[] = [];

  constructor(parts: NodeAddressesParts) {
    this.#parts = parts;
  }

  /** The addresses of the node: those that its Node shows, or else what the machine was found to have. */
  get known(): readonly string[] {
    const shown = this.#parts.registered()?.status?.addresses ?? [];
    for (const [from, wanted] of [
      [shown, 'InternalIP'],
      [shown, 'ExternalIP'],
      [this.#found, 'InternalIP'],
    ] as const) {
      const found = from.filter(({type}) => type === wanted).map(({address}) => address);
      if (found.length > 0) return found;
    }
    return [];
  }

  /** Returns the addresses of the machine; undefined if they cannot be found. */
  async current(): Promise<readonly NodeAddress[] | undefined> {
    const {find, log} = this.#parts;
    try {
      return (this.#found = await find());
    } catch (error) {
      log.error({err: error}, 'failed to set the addresses of the node');
      return undefined;
    }
  }
}
