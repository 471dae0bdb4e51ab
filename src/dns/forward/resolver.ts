import type {Clock} from '#src/base/clock.js';
import type {Eventually} from '#src/base/eventually.js';
import type {DnsMetrics, ServerMetrics} from '#src/dns/metrics/metrics.js';
import {rcodes} from '#src/dns/wire/codes.js';
import type {Question} from '#src/dns/wire/message.js';
import {lowerCase} from '#src/dns/wire/names.js';
import type {Response} from '#src/dns/wire/read.js';
import type {ResponseCache} from './cache.js';
import type {Forwarder, Wishes} from './forwarder.js';

/** What became of a question: a response, of a resolver or of the cache, or the code of a failure. */
export type Lookup =
  | {readonly kind: 'response'; readonly response: Response; readonly from: 'forward' | 'cache'}
  | {readonly kind: 'failed'; readonly rcode: number};

export interface ResolverParts {
  readonly clock: Clock;
  readonly forwarder: Forwarder;
  readonly cache: ResponseCache;
  readonly metrics: DnsMetrics;
  /** So many questions may wait for resolvers at once. */
  readonly maxConcurrent: number;
}

const refused: Lookup = {kind: 'failed', rcode: rcodes.REFUSED};
const noResponse: Lookup = {kind: 'failed', rcode: rcodes.SERVFAIL};

/** Answers for what is outside of the cluster. A question that is asked by many at once is forwarded once. */
export class Resolver {
  readonly #parts: ResolverParts;
  /** At most as many as may wait. */
  readonly #pending = new Map<string, Promise<Lookup>>();
  #waiting = 0;
  #isOff = false;

  constructor(parts: ResolverParts) {
    this.#parts = parts;
  }

  /** Refuses every question from now on. */
  turnOff(): void {
    this.#isOff = true;
  }

  lookup(question: Question, wishes: Wishes, server: ServerMetrics): Eventually<Lookup> {
    const {clock, cache, forwarder, metrics, maxConcurrent} = this.#parts;
    if (this.#isOff || !forwarder.hasUpstreams) return refused;
    const key = keyOf(question, wishes);
    const cached = cache.get(key, clock.monotonic());
    server.cacheLookup(cached?.type);
    if (cached) return {kind: 'response', response: cached.response, from: 'cache'};
    if (this.#waiting >= maxConcurrent) {
      metrics.concurrencyRefused();
      return refused;
    }
    return this.#wait(this.#pending.get(key) ?? this.#forward(key, question, wishes));
  }

  async #wait(pending: Promise<Lookup>): Promise<Lookup> {
    this.#waiting++;
    try {
      return await pending;
    } finally {
      this.#waiting--;
    }
  }

  #forward(key: string, question: Question, wishes: Wishes): Promise<Lookup> {
    const pending = this.#ask(key, question, wishes).finally(() => this.#pending.delete(key));
    this.#pending.set(key, pending);
    return pending;
  }

  async #ask(key: string, question: Question, wishes: Wishes): Promise<Lookup> {
    const {clock, forwarder, cache} = this.#parts;
    const response = await forwarder.lookup(question, wishes);
    if (!response) return noResponse;
    return {kind: 'response', response: cache.put(key, response, clock.monotonic()), from: 'forward'};
  }
}

const keyOf = ({name, type, class: cls}: Question, {dnssec, checkingDisabled}: Wishes): string =>
  `${dnssec ? 1 : 0}${checkingDisabled ? 1 : 0}${type} ${cls} ${lowerCase(name)}`;
