// The certificate of an agent.

import type {Clock} from '#src/base/clock.js';
import type {KeyPairPem} from '#src/pki/key-pair.js';
import type {PairStore, StoredPair} from './pair-store.js';

/** A certificate kept in a store and rotated. */
export class AgentCertificate {
  readonly #store: PairStore;
  readonly #clock: Pick<Clock, 'now'>;
  #pair: StoredPair | undefined;
  /** Whether the certificate in use is missing, or is a bootstrap certificate to be replaced. */
  readonly isProvisional: boolean;

  private constructor(store: PairStore, clock: Pick<Clock, 'now'>, pair: StoredPair | undefined, isProvisional: boolean) {
    this.#store = store;
    this.#clock = clock;
    this.#pair = pair;
    this.isProvisional = isProvisional;
  }

  /**
   * Reads the certificate from a store. If it is missing or expired, `first` takes its place, if given. Rejects if the
   * file cannot be used.
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

  /** The certificate used last, even if expired. */
  get last(): StoredPair | undefined {
    return this.#pair;
  }

  /** Stores a new certificate and puts it into use. */
  async replace(pair: KeyPairPem): Promise<StoredPair> {
    const stored = await this.#store.update(pair);
    this.#pair = stored;
    return stored;
  }
}
