import {parseDuration} from '#src/api/duration.js';
import {badRequest, timeout} from '#src/api/status.js';
import type {Clock} from '#src/base/clock.js';
import {nextTurn} from '#src/base/turn.js';
import type {RequestInfo} from './request-info.js';
import {isLongRunning} from './request-info.js';

/** The time limit of a request in ms: the server's, or less if the query's `timeout` requests it. Undefined for long-running requests. */
export const deadlineOf = (info: RequestInfo, allowedMs: number): number | undefined => {
  if (isLongRunning(info)) return undefined;
  return Math.min(requested(info, allowedMs), listing(info));
};

/** The limit by `timeoutSeconds`, which applies only to lists here. */
const listing = ({verb, query}: RequestInfo): number => {
  const seconds = verb === 'list' ? Number(query.get('timeoutSeconds') ?? 0) : 0;
  return seconds > 0 ? seconds * 1000 : Infinity;
};

const requested = (info: RequestInfo, allowedMs: number): number => {
  const requestedTimeout = info.query.get('timeout');
  if (requestedTimeout === null || requestedTimeout === '') return allowedMs;
  const ms = parseDuration(requestedTimeout);
  if (ms === undefined)
    throw badRequest(`invalid timeout specified in the request URL - time: invalid duration ${JSON.stringify(requestedTimeout)}`);
  return ms <= 0 ? allowedMs : Math.min(ms, allowedMs);
};

/** A request with a running deadline. */
class Waiting<T> {
  readonly #ms: number;
  readonly #promise: Promise<T>;
  #reject!: (error: Error) => void;
  #timer: Disposable | undefined;
  #over = false;
  #expired = false;

  constructor(ms: number, work: Promise<T>, late: (result: T) => void) {
    this.#ms = ms;
    this.#promise = new Promise((resolve, reject) => {
      this.#reject = reject;
      work.then(
        result => {
          if (this.#expired) late(result);
          this.#end();
          resolve(result);
        },
        (error: Error) => {
          this.#end();
          reject(error);
        },
      );
    });
  }

  get answer(): Promise<T> {
    return this.#promise;
  }

  startTimer(clock: Clock): void {
    if (this.#over) return;
    this.#timer = clock.schedule(this.#ms, () => {
      this.#expired = true;
      this.#reject(timeout('request did not complete within the allotted timeout'));
    });
  }

  #end(): void {
    this.#over = true;
    this.#timer?.[Symbol.dispose]();
  }
}

/** Enforces the deadlines of requests. Most are answered within one turn of the event loop; a timer is set only for the others. */
export class Deadlines {
  readonly #clock: Clock;
  #fresh: Waiting<unknown>[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the result of `work`, or rejects with 504 after `ms`. A result that comes later is passed to `late`. */
  within<T>(ms: number | undefined, work: Promise<T>, late: (result: T) => void): Promise<T> {
    if (ms === undefined) return work;
    const waiting = new Waiting(ms, work, late);
    if (this.#fresh.push(waiting as Waiting<unknown>) === 1)
      nextTurn()
        .then(this.#startTimers)
        .catch((error: unknown) => this.#clock.unhandled(error));
    return waiting.answer;
  }

  readonly #startTimers = (): void => {
    const fresh = this.#fresh;
    this.#fresh = [];
    for (const waiting of fresh) waiting.startTimer(this.#clock);
  };
}
