// Detects that the data of etcd's servers were replaced: wiped, or restored from an older snapshot. Then everything
// known of the store by key and revision is void. A linearizable response never has an older revision than one received
// before its call began, so a lower one proves it; so does another cluster id. A history that has grown beyond the
// known revision meanwhile is recognised by comparing the last known changes. Since servers restart for it, this is
// done on each new connection before anything else uses it: later calls and watches of the connection have the history
// that was verified.

import type {Continuity} from '#src/storage/store.js';
import {FutureRevision} from '#src/storage/errors.js';
import {newest, type KeyValue, type RangeRequest, type RangeResponse, type ResponseHeader} from './messages.js';

/** History was compacted; etcd does not report up to which revision. */
export class HistoryGone extends Error {
  override readonly name = 'HistoryGone';
}

/** What the response to a linearizable call must show at least. */
export interface Expectation {
  readonly era: number;
  readonly revision: number;
}

/**
 * A change that identifies the history it is part of: another history has another change, or none of this key, at its
 * revision.
 */
interface Witness {
  readonly key: string;
  readonly revision: number;
  readonly isDeletion: boolean;
}

const maxWitnesses = 5;
const maxPasses = 3;

/** The members of an event that identify a change. */
interface SeenChange {
  readonly isDeletion: boolean;
  readonly kv: Pick<KeyValue, 'key' | 'revision'>;
}

/** The history of the servers' data as far as this process has seen it. */
export class History implements Continuity {
  readonly #listeners = new Set<(reason: string) => void>();
  /** Counts the replacements: responses to calls of an earlier era prove nothing. */
  #era = 0;
  #cluster = 0;
  #newest = 0;
  #problem: string | undefined;
  #witnesses: readonly Witness[] = [];

  get problem(): string | undefined {
    return this.#problem;
  }

  onReplaced(listener: (reason: string) => void): Disposable {
    this.#listeners.add(listener);
    return {[Symbol.dispose]: () => void this.#listeners.delete(listener)};
  }

  /** To be called before a linearizable call. */
  expect(): Expectation {
    return {era: this.#era, revision: this.#newest};
  }

  /** Checks the header of a linearizable response. */
  check({cluster, revision}: ResponseHeader, {era, revision: least}: Expectation): void {
    if (era !== this.#era) return;
    if (this.#cluster !== 0 && cluster !== this.#cluster) return this.replaced('the servers belong to another cluster');
    if (revision < least) return this.replaced(`the newest revision is ${revision}, and was ${least} before`);
    this.#cluster = cluster;
    this.reached(revision);
  }

  /** Records the revision of an event of the current era. */
  reached(revision: number): void {
    if (revision > this.#newest) this.#newest = revision;
  }

  /** Records changes: events of the current era, or a write of this process, with what was expected before it. */
  saw(changes: readonly SeenChange[], {era} = this.expect()): void {
    if (era !== this.#era) return;
    for (const {isDeletion, kv} of changes.slice(-maxWitnesses)) {
      const {key, revision} = kv;
      this.reached(revision);
      // A write of this process also arrives as an event.
      if (this.#witnesses.some(known => known.revision === revision)) continue;
      this.#witnesses = [...this.#witnesses, {key, revision, isDeletion}].sort((a, b) => a.revision - b.revision).slice(-maxWitnesses);
    }
  }

  /** Compares what is known with the servers that `read` reads from. Afterwards a new era may have begun. */
  async verify(read: (request: RangeRequest) => Promise<RangeResponse>): Promise<void> {
    const {era, revision} = this.expect();
    if (revision === 0) return;
    let witnesses: readonly Witness[] | undefined;
    // Calls of an earlier connection may end meanwhile: what they wrote is verified as well. Continuous writes must not
    // keep this from ending.
    for (let pass = 0; pass < maxPasses && witnesses !== this.#witnesses; pass++) {
      witnesses = this.#witnesses;
      const expected = this.expect();
      this.check(await read(newest), expected);
      const found = await Promise.all(witnesses.map(witness => holds(witness, read)));
      if (era !== this.#era) return;
      if (found.includes(false)) return this.replaced('another change has the revision of one that was seen');
    }
  }

  /** Begins a new era, which has a problem until `restored`. */
  replaced(reason: string): void {
    this.#era += 1;
    this.#cluster = this.#newest = 0;
    this.#witnesses = [];
    this.#problem = `the data of the store were replaced (${reason}); they are being read again`;
    for (const listener of this.#listeners) listener(reason);
  }

  /** Called when the data were read again. */
  restored(): void {
    this.#problem = undefined;
  }
}

/** Whether a change is part of the servers' history; undefined if it is compacted. */
const holds = async (
  {key, revision, isDeletion}: Witness,
  read: (request: RangeRequest) => Promise<RangeResponse>,
): Promise<boolean | undefined> => {
  try {
    const {
      kvs: [found],
    } = await read({start: key, revision});
    return isDeletion ? !found : found?.revision === revision;
  } catch (error) {
    if (error instanceof HistoryGone) return undefined;
    if (error instanceof FutureRevision) return false;
    throw error;
  }
};
