import {parseDuration} from '#src/api/duration.js';
import {badRequest, timeout} from '#src/api/status.js';
import type {Clock} from '#src/base/clock.js';
import {nextTurn} from '#src/base/turn.js';
import type {RequestInfo} from './request-info.js';
import {isLongRunning} from './request-info.js';

/** How long a request may take, in ms: what the server allows, or less when the query's `timeout` says so. Undefined for long-running ones. */
export const deadlineOf = (info: RequestInfo, allowedMs: number): number | undefined => {
  if (isLongRunning(info)) return undefined;
  return Math.min(requested(info, allowedMs), listing(info));
};

/** What `timeoutSeconds` leaves a list; nobody else is bound by it here. */
const listing = ({verb, query}: RequestInfo): number => {
  const seconds = verb === 'list' ? Number(query.get('timeoutSeconds') ?? 0) : 0;
  return seconds > 0 ? seconds * 1000 : Infinity;
};

const requested = (info: RequestInfo, allowedMs: number): number => {
  const requestedTimeout = info.query.get('timeout');
  if (requestedTimeout === null || requestedTimeout === '') return allowedMs;
  const ms = parseDuration(requestedTimeout);
  if (ms === undefined) throw badRequest(`invalid timeout specified in the request URL - time: invalid duration ${JSON.stringify(requestedTimeout)}`);
  return ms <= 0 ? allowedMs : Math.min(ms, allowedMs);
};

/** A request whose time runs. */
class Waiting<T> {
  readonly #ms: number;
  readonly #promise: Promise<T>;
  #reject!: (error: Error) => void;
  #timer: Disposable | undefined;
  #over = false;
  #expired = false;

  constructor(ms: number, work: Promise<T>, late: (answer: T) => void) {
    this.#ms = ms;
    this.#promise = new Promise((resolve, reject) => {
      this.#reject = reject;
      work.then(
        answer => {
          if (this.#expired) late(answer);
          this.#end();
          resolve(answer);
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

/** Keeps requests to their time. Most are answered in the turn of the event loop they came in: a timer is set only for those that are not. */
export class Deadlines {
  readonly #clock: Clock;
  #fresh: Waiting<unknown>[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The answer of `work`, or 504 once `ms` are up. What the work does then is nobody's business any more; an answer that comes `late` is let go. */
  within<T>(ms: number | undefined, work: Promise<T>, late: (answer: T) => void): Promise<T> {
    if (ms === undefined) return work;
    const waiting = new Waiting(ms, work, late);
    if (this.#fresh.push(waiting as Waiting<unknown>) === 1) nextTurn().then(this.#startTimers).catch((error: unknown) => this.#clock.unhandled(error));
    return waiting.answer;
  }

  readonly #startTimers = (): void => {
    const fresh = this.#fresh;
    this.#fresh = [];
    for (const waiting of fresh) waiting.startTimer(this.#clock);
  };
}
