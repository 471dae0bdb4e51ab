// Detects that the data of etcd's servers were replaced: wiped, or restored from an older snapshot. Then everything known of the store by key and revision is
// void. A linearizable response never has an older revision than one received before its call began, so a lower one proves it; so does another cluster id. A
// history that has grown beyond the known revision meanwhile is recognised by the watch, which compares the last changes it knows.

import type {Continuity} from '#src/storage/store.js';
import type {KeyValue, ResponseHeader} from './messages.js';

/** What the response to a linearizable call must show at least. */
export interface Expectation {
  readonly era: number;
  readonly revision: number;
}

/** A change that identifies the history it is part of: another history has another change, or none of this key, at its revision. */
export interface Witness {
  readonly key: string;
  readonly revision: number;
  readonly isDeletion: boolean;
}

const maxWitnesses = 5;

/** The history of the servers' data as far as this process has seen it. */
export class History implements Continuity {
  readonly #listeners = new Set<(reason: string) => void>();
  /** Counts the replacements: responses to calls of an earlier era prove nothing. */
  #era = 0;
  #cluster = 0;
  #newest = 0;
  #problem: string | undefined;
  #witnesses: Witness[] = [];

  get problem(): string | undefined {
    return this.#problem;
  }

  /** The last changes that were seen. */
  get witnesses(): readonly Witness[] {
    return this.#witnesses;
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

  /** Records changes of the current era: events, or a write of this process. */
  saw(changes: readonly {readonly isDeletion: boolean; readonly kv: Pick<KeyValue, 'key' | 'revision'>}[]): void {
    for (const {isDeletion, kv} of changes.slice(-maxWitnesses)) {
      this.reached(kv.revision);
      if (this.#witnesses.push({key: kv.key, revision: kv.revision, isDeletion}) > maxWitnesses) this.#witnesses.shift();
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

  /** The data were read again. */
  restored(): void {
    this.#problem = undefined;
  }
}
