// The certificate that an agent has.

import type {Clock} from '#src/base/clock.js';
import type {KeyPairPem} from '#src/pki/key-pair.js';
import type {PairStore, StoredPair} from './pair-store.js';

/** A certificate that is kept in a store, and replaced from time to time. */
export class AgentCertificate {
  readonly #store: PairStore;
  readonly #clock: Pick<Clock, 'now'>;
  #pair: StoredPair | undefined;
  /** Whether there was only one to use until there is another, or none. */
  readonly isProvisional: boolean;

  private constructor(store: PairStore, clock: Pick<Clock, 'now'>, pair: StoredPair | undefined, isProvisional: boolean) {
    this.#store = store;
    this.#clock = clock;
    this.#pair = pair;
    this.isProvisional = isProvisional;
  }

  /**
   * Reads the certificate of a store. One that is missing or expired is replaced by `first`, if there is one. Rejects
   * if its file cannot be used.
   */
  static async open(store: PairStore, clock: Pick<Clock, 'now'>, first?: KeyPairPem): Promise<AgentCertificate> {
    const kept = await store.current();
    if (kept && clock.now() < kept.leaf.notAfter) return new AgentCertificate(store, clock, kept, false);
    return new AgentCertificate(store, clock, first && (await store.update(first)), true);
  }

  /** The certificate in use; undefined if there is none, or it has expired. */
  get current(): StoredPair | undefined {
    return this.#pair && this.#clock.now() <= this.#pair.leaf.notAfter ? this.#pair : undefined;
  }

  /** The certificate that was used last, which may have expired. */
  get last(): StoredPair | undefined {
    return this.#pair;
  }

  /** Keeps another certificate, and uses it. */
  async replace(pair: KeyPairPem): Promise<StoredPair> {
    const stored = await this.#store.update(pair);
    this.#pair = stored;
    return stored;
  }
}
