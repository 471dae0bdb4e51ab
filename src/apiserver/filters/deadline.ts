import {parseDuration} from '#src/api/duration.js';
import {discard} from '#src/api/request.js';
import {badRequest} from '#src/api/status.js';
import type {Clock} from '#src/base/clock.js';
import {LinkedQueue, type Linked} from '#src/base/collections/linked-queue.js';
import {isPending} from '#src/base/eventually.js';
import {yieldToEventLoop} from '#src/base/turn.js';
import {isLongRunning, type RequestInfo} from '#src/apiserver/request/request-info.js';
import {DeadlineExceeded} from '#src/apiserver/request/timeout.js';
import type {Answer, Filter} from './filter.js';
import type {Received, RequestDeadline, Timed} from './stages.js';

/** Answers requests over a network with 504 at their deadline, except long-running ones. */
export const withDeadline = (clock: Clock, requestTimeoutMs: number): Filter<Received, Timed> => {
  const deadlines = new Deadlines(clock);
  return next => received => {
    const {request, info, times} = received;
    const deadline = deadlinesOf(deadlineOf(info, requestTimeoutMs), times.startedAt, request.inProcess === true);
    const answer = next(received.timed(deadline));
    if (!isPending(answer) || request.inProcess) return answer;
    return deadlines.within(deadline.ms, answer, discardLate, () => deadline.onExpired());
  };
};

/** Discards an answer that was ready after the deadline. */
const discardLate = ({response}: Answer): void => {
  response.delivery?.[Symbol.dispose]();
  discard(response);
};

/**
 * The time limit of a request in ms: the server's, or less if the query's `timeout` requests it. Undefined for
 * long-running requests.
 */
const deadlineOf = (info: RequestInfo, allowedMs: number): number | undefined => {
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

/** The deadline of the outgoing calls of a write, however long the request itself may take. */
const writeTimeoutMs = 34_000;

const nothing = (): void => {};

const deadlinesOf = (ms: number | undefined, startedAt: number, inProcess: boolean): RequestDeadline => {
  const endsAt = ms === undefined ? undefined : startedAt + ms;
  return {
    ms,
    endsAt: inProcess ? undefined : endsAt,
    callsEndAt: Math.min(endsAt ?? Infinity, startedAt + writeTimeoutMs),
    onExpired: nothing,
  };
};

/** A request that has not been answered. */
class Waiting implements Linked<Waiting> {
  /** By the monotonic clock. */
  readonly endsAt: number;
  readonly expire: () => void;
  state: 'fresh' | 'running' | 'expired' | 'over' = 'fresh';
  previous: Waiting | undefined = undefined;
  next: Waiting | undefined = undefined;

  constructor(endsAt: number, expire: () => void) {
    this.endsAt = endsAt;
    this.expire = expire;
  }
}

/**
 * Enforces the deadlines of requests. Most are answered within one turn of the event loop, and only the others are
 * looked at again: one timer is set for all of them, by the deadline that is next.
 */
export class Deadlines {
  readonly #clock: Clock;
  #fresh: Waiting[] = [];
  readonly #running = new LinkedQueue<Waiting>();
  #timer: Disposable | undefined;
  #timerAt = Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Returns the result of `work`, or calls `expired` and rejects with 504 after `ms`. A result that comes later is
   * passed to `late`.
   */
  within<T>(ms: number | undefined, work: Promise<T>, late: (result: T) => void, expired?: () => void): Promise<T> {
    if (ms === undefined) return work;
    return new Promise((resolve, reject) => {
      const waiting = new Waiting(this.#clock.monotonic() + ms, () => {
        reject(new DeadlineExceeded());
        expired?.();
      });
      work.then(
        result => {
          if (waiting.state === 'expired') late(result);
          this.#end(waiting);
          resolve(result);
        },
        (error: Error) => {
          this.#end(waiting);
          reject(error);
        },
      );
      if (this.#fresh.push(waiting) === 1)
        yieldToEventLoop()
          .then(this.#watchFresh)
          .catch((error: unknown) => this.#clock.unhandled(error));
    });
  }

  readonly #watchFresh = (): void => {
    const fresh = this.#fresh;
    this.#fresh = [];
    let next = Infinity;
    for (const waiting of fresh) {
      if (waiting.state === 'over') continue;
      waiting.state = 'running';
      this.#running.push(waiting);
      next = Math.min(next, waiting.endsAt);
    }
    if (next < this.#timerAt) this.#setTimer(next);
  };

  #end(waiting: Waiting): void {
    const isRunning = waiting.state === 'running';
    waiting.state = 'over';
    if (!isRunning) return;
    this.#running.remove(waiting);
    if (this.#running.length === 0) this.#stopTimer();
  }

  #setTimer(at: number): void {
    this.#stopTimer();
    this.#timerAt = at;
    this.#timer = this.#clock.schedule(at - this.#clock.monotonic(), this.#expire);
  }

  #stopTimer(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#timerAt = Infinity;
  }

  readonly #expire = (): void => {
    this.#stopTimer();
    const now = this.#clock.monotonic();
    let next = Infinity;
    const due: Waiting[] = [];
    for (const waiting of this.#running) {
      if (waiting.endsAt <= now) due.push(waiting);
      else next = Math.min(next, waiting.endsAt);
    }
    for (const waiting of due) {
      this.#running.remove(waiting);
      waiting.state = 'expired';
      waiting.expire();
    }
    if (next < Infinity) this.#setTimer(next);
  };
}
