import type {Naming} from '#src/api/naming.js';
import {StatusError} from '#src/api/status.js';
import type {CacheBound} from '#src/base/cache-bound.js';
import {type Clock, sleep} from '#src/base/clock.js';
import {Lru} from '#src/base/lru.js';
import {type Random, jittered} from '#src/base/random.js';

/** The API server that decides for us; a client's `request` fits. Rejects with a `StatusError` when the server refuses. */
export interface Delegate {
  readonly naming: Naming;
  request(method: string, path: string, options?: {body?: unknown; signal?: AbortSignal}): Promise<unknown>;
}

export interface DelegationOptions {
  readonly clock: Clock;
  readonly random: Random;
}

const steps = 5;
const firstWaitMs = 500;

/** Asks for a review, again where another try may help: 500 ms apart at first, half as long again each time, five tries in all. */
export const review = async (delegate: Delegate, path: string, body: unknown, {clock, random}: DelegationOptions): Promise<unknown> => {
  for (let step = 1; ; step++) {
    try {
      return await delegate.request('POST', path, {body});
    } catch (error) {
      if (step === steps || !mayPass(error)) throw error;
      await sleep(clock, jittered(random, firstWaitMs * 1.5 ** (step - 1), 0.2));
    }
  }
};

/** Whether the failure is of the moment: the server was not reached, is overloaded or broken. */
const mayPass = (error: unknown): boolean => !(error instanceof StatusError) || error.code === 429 || error.code >= 500;

interface Known<T> {
  readonly answer: Promise<T>;
  until: number;
  bytes: number;
}

/** What an answer takes until it is known, about. */
const openBytes = 1000;

/** Answers that are kept for a while. Concurrent questions of one key share one answer; failures are not kept. */
export class AnswerCache<T> {
  readonly #clock: Clock;
  readonly #ttlMs: (answer: T) => number;
  readonly #answers: Lru<string, Known<T>>;

  /** Callers choose the keys: the bound holds for the answers of all caches that share it. */
  constructor(bound: CacheBound, clock: Clock, ttlMs: (answer: T) => number) {
    this.#clock = clock;
    this.#ttlMs = ttlMs;
    this.#answers = new Lru(bound, {bytesOf: ({bytes}) => bytes});
  }

  get(key: string, ask: () => Promise<T>): Promise<T> {
    const known = this.#answers.peek(key);
    if (known && this.#clock.monotonic() < known.until) return known.answer;
    const entry: Known<T> = {answer: ask(), until: Number.POSITIVE_INFINITY, bytes: openBytes};
    this.#answers.set(key, entry);
    entry.answer.then(
      answer => {
        entry.until = this.#clock.monotonic() + this.#ttlMs(answer);
        entry.bytes += 2 * (JSON.stringify(answer) ?? '').length;
        if (this.#answers.peek(key) === entry) this.#answers.set(key, entry);
      },
      () => {
        if (this.#answers.peek(key) === entry) this.#answers.delete(key);
      },
    );
    return entry.answer;
  }
}
