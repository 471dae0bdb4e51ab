// Creates TokenReviews and SubjectAccessReviews at an API server, with retries, and caches their results. The decisions
// are the server's.

import type {Naming} from '#src/api/naming.js';
import {StatusError} from '#src/api/status.js';
import type {CacheBound} from '#src/base/cache-bound.js';
import {type Clock, sleep} from '#src/base/clock.js';
import {Lru} from '#src/base/lru.js';
import {type Random, jittered} from '#src/base/random.js';

/** The API server that decides; a client's `request` fits. Rejects with a `StatusError` when the server refuses. */
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

/**
 * Creates a review, and retries transient failures: after 500 ms at first, half as long again each time, five attempts
 * in total.
 */
export const review = async (delegate: Delegate, path: string, body: unknown, {clock, random}: DelegationOptions): Promise<unknown> => {
  for (let step = 1; ; step++) {
    try {
      return await delegate.request('POST', path, {body});
    } catch (error) {
      if (step === steps || !isTransient(error)) throw error;
      await sleep(clock, jittered(random, firstWaitMs * 1.5 ** (step - 1), 0.2));
    }
  }
};

/** Whether a failure is transient: the server was not reached, is overloaded or failed. */
const isTransient = (error: unknown): boolean => !(error instanceof StatusError) || error.code === 429 || error.code >= 500;

interface Known<T> {
  readonly answer: Promise<T>;
  until: number;
  bytes: number;
}

/** The estimated memory of a pending result. */
const openBytes = 1000;

/** A cache of results with a TTL. Concurrent calls with one key share one result; failures are not cached. */
export class ResultCache<T> {
  readonly #clock: Clock;
  readonly #ttlMs: (answer: T) => number;
  readonly #answers: Lru<string, Known<T>>;

  /** Keys come from clients: the bound applies to all caches that share it. */
  constructor(bound: CacheBound, clock: Clock, ttlMs: (answer: T) => number) {
    this.#clock = clock;
    this.#ttlMs = ttlMs;
    this.#answers = new Lru(bound, {bytesOf: ({bytes}) => bytes});
  }

  /** Whether there is a result, so that `get` need not wait for one. */
  has(key: string): boolean {
    const until = this.#answers.peek(key)?.until ?? Number.POSITIVE_INFINITY;
    return until < Number.POSITIVE_INFINITY && this.#clock.monotonic() < until;
  }

  get(key: string, create: () => Promise<T>): Promise<T> {
    const known = this.#answers.peek(key);
    if (known && this.#clock.monotonic() < known.until) return known.answer;
    const entry: Known<T> = {answer: create(), until: Number.POSITIVE_INFINITY, bytes: openBytes};
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
