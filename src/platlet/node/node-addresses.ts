// The addresses of a node, as its agent detects them.

import type {Frozen} from '#src/api/key.js';
import type {Node} from '#src/api/types.js';
import type {Log} from '#src/base/log.js';
import type {NodeAddress} from './addresses.js';

export interface NodeAddressesParts {
  /** Returns the current addresses of the machine. Rejects if it has none. */
  find(): Promise<readonly NodeAddress[]>;
  /** Returns the Node as the API server has it; undefined while there is none. */
  registered(): Frozen<Node> | undefined;
  /** Whether addresses that the Node shows are kept, since an external cloud provider has set them. */
  readonly keepsShown: boolean;
  readonly log: Log;
}

/** Detects and caches the addresses of the machine. */
export class NodeAddresses {
  readonly #parts: NodeAddressesParts;
  #found: readonly NodeAddress[] = [];

  constructor(parts: NodeAddressesParts) {
    this.#parts = parts;
  }

  /** The addresses that the Node shows, or else those detected on the machine. */
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

  /** Returns the addresses that the Node is to show; undefined to leave them, also if detection fails. */
  async current(): Promise<readonly NodeAddress[] | undefined> {
    const {find, registered, keepsShown, log} = this.#parts;
    try {
      this.#found = await find();
      return keepsShown && (registered()?.status?.addresses ?? []).length > 0 ? undefined : this.#found;
    } catch (error) {
      log.error({err: error}, 'failed to set the addresses of the node');
      return undefined;
    }
  }
}
