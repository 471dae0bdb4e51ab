import {kinds} from '#src/api/kinds/index.js';
import {sameJson} from '#src/api/equal.js';
import {isNotFound, statusError} from '#src/api/status.js';
import type {Reader} from '#src/api/reader.js';
import type {Writer} from '#src/api/writer.js';
import {charged, type Charge, type Quota} from './check.js';

interface Waiting {
  readonly charge: Charge;
  accept(): void;
  refuse(error: unknown): void;
}

/** How often a batch is retried after a conflict with another writer of a quota. */
const maxAttempts = 3;

class Overtaken extends Error {}

/**
 * Charges the requests of each namespace one after another, so that two cannot use the same remainder; waiting requests
 * are charged together and cost one write of each quota.
 */
export class QuotaLedger {
  readonly #reader: Reader;
  readonly #change: Writer['change'];
  readonly #waiting = new Map<string, Waiting[]>();

  constructor(reader: Reader, change: Writer['change']) {
    this.#reader = reader;
    this.#change = change;
  }

  /** Resolves once the request is charged; rejects with its refusal. */
  charge(charge: Charge): Promise<void> {
    const {namespace} = charge.attributes;
    return new Promise((accept, refuse) => {
      const waiting = this.#waiting.get(namespace);
      if (waiting) waiting.push({charge, accept, refuse});
      else {
        this.#waiting.set(namespace, [{charge, accept, refuse}]);
        void this.#work(namespace);
      }
    });
  }

  async #work(namespace: string): Promise<void> {
    for (;;) {
      const batch = this.#waiting.get(namespace)!;
      if (batch.length === 0) break;
      this.#waiting.set(namespace, []);
      await this.#chargeBatch(namespace, batch);
    }
    this.#waiting.delete(namespace);
  }

  async #chargeBatch(namespace: string, batch: readonly Waiting[]): Promise<void> {
    for (let attempts = 1; ; attempts++) {
      try {
        return await this.#try(namespace, batch);
      } catch (error) {
        if (error instanceof Overtaken && attempts < maxAttempts) continue;
        const failure =
          error instanceof Overtaken
            ? statusError('Conflict', 'the quotas of the namespace change too often to be charged; try again')
            : error;
        for (const {refuse} of batch) refuse(failure);
        return;
      }
    }
  }

  async #try(namespace: string, batch: readonly Waiting[]): Promise<void> {
    const before = await this.#reader.list(kinds.resourceQuotas, namespace);
    let quotas = [...before];
    const outcomes = batch.map(({charge}) => {
      try {
        const used = charged(quotas, charge);
        if (!charge.attributes.dryRun) quotas = quotas.map(quota => withUsed(quota, used.get(quota.metadata?.name ?? '')));
        return undefined;
      } catch (error) {
        return {error};
      }
    });
    await Promise.all(quotas.map((quota, i) => (quota === before[i] ? undefined : this.#write(quota, before[i]!))));
    for (const [i, {accept, refuse}] of batch.entries()) {
      const outcome = outcomes[i];
      if (outcome) refuse(outcome.error);
      else accept();
    }
  }

  async #write({metadata, status}: Readonly<Quota>, before: Readonly<Quota>): Promise<void> {
    try {
      await this.#change(kinds.resourceQuotas, metadata?.namespace ?? '', metadata?.name ?? '', current => {
        if (current.metadata?.uid !== before.metadata?.uid || !sameJson(current.status, before.status)) throw new Overtaken();
        current.status = {...current.status, ...(status?.used ? {used: {...status.used}} : {})};
      });
    } catch (error) {
      if (isNotFound(error)) throw new Overtaken('', {cause: error});
      throw error;
    }
  }
}

const withUsed = (quota: Readonly<Quota>, used: Readonly<Record<string, string>> | undefined): Readonly<Quota> =>
  used ? {...quota, status: {...quota.status, used: {...used}}} : quota;
