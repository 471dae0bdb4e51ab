import {formatDuration} from '#src/api/duration.js';
import type {ApiRequest} from '#src/api/request.js';
import type {UserInfo} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import type {LogFields} from '#src/base/log.js';
import {kindOf, type InFlight, type RequestCounts, type RequestKind} from './in-flight.js';
import {TooManyRequests} from '#src/apiserver/request/plain-refusal.js';
import {isLongRunning, type RequestInfo} from '#src/apiserver/request/request-info.js';
import type {ActiveSchema} from './classifier.js';
import {FlowRequest, type Work} from '#src/apiserver/flowcontrol/fair-queuing/queue.js';

/** A request that needs seats. */
export interface PlaceRequest {
  readonly schema: ActiveSchema;
  readonly user: UserInfo;
  readonly info: RequestInfo;
  readonly work: Work;
  /** How long it may wait, in ms. A request that may wait for ever is never rejected by a level with queues. */
  readonly waitMs: number;
  /** Its signal ends the wait. Read only where there is one: its creation is expensive. */
  readonly request: Pick<ApiRequest, 'signal' | 'inProcess'>;
  /** Receives the time that it has waited. */
  readonly times: {queueWaitMs?: number};
}

/** The collaborators of a place. */
export interface PlaceParts {
  readonly clock: Clock;
  readonly counts: RequestCounts;
  readonly inFlight: InFlight;
  /** Called when a level whose object is gone may be idle. */
  reap(): void;
}

/** The seats of one request: waiting for them, occupying them, or over. Disposing it ends either. */
export class Place implements Disposable {
  readonly #parts: PlaceParts;
  readonly #asked: PlaceRequest;
  readonly #request: FlowRequest;
  readonly #kind: RequestKind;
  #inFlight: Disposable | undefined;
  #ready: Promise<void> | undefined;
  #timer: Disposable | undefined;
  #resolve: (() => void) | undefined;
  #reject: ((refusal: Error) => void) | undefined;

  /** Asks for the seats. Throws 429 if the request cannot wait either. */
  constructor(parts: PlaceParts, asked: PlaceRequest) {
    this.#parts = parts;
    this.#asked = asked;
    const {schema, user, info, work, waitMs} = asked;
    this.#kind = kindOf(info);
    this.#request = new FlowRequest(schema.flowOf(user, info), {user, info, isPatient: waitMs === Infinity}, work, parts.clock.monotonic());
    const reason = schema.level.queues.start(this.#request);
    if (reason !== undefined) {
      if (schema.level.excess !== 'exempt') schema.meters.waitedInVain.observe(0);
      throw this.#refusal();
    }
    if (!isLongRunning(info)) this.#inFlight = parts.inFlight.enterUnlimited();
    if (this.#request.state === 'waiting') this.#wait();
    else this.#begin();
  }

  /**
   * Resolves when the request may be executed, and rejects with 429 when its time to wait is over; undefined if it need
   * not wait.
   */
  get ready(): Promise<void> | undefined {
    return this.#ready;
  }

  /** What the log of requests contains of it. */
  get logFields(): LogFields {
    const {work} = this.#asked;
    const executedMs = this.#parts.clock.monotonic() - this.#request.startedAt;
    return {
      apf_iseats: work.initialSeats,
      apf_fseats: work.finalSeats,
      apf_additionalLatency: formatDuration(work.additionalLatencyMs),
      ...(Number.isNaN(executedMs) ? {} : {[this.#executionField]: formatDuration(Math.round(executedMs * 1000) / 1000)}),
    };
  }

  get #executionField(): string {
    return this.#asked.info.verb === 'watch' ? 'apf_init_latency' : 'apf_execution_time';
  }

  [Symbol.dispose](): void {
    const {schema, info} = this.#asked;
    const {queues} = schema.level;
    if (this.#request.state === 'waiting') this.#cancel();
    else if (this.#request.state === 'executing') {
      const now = this.#parts.clock.monotonic();
      this.#parts.counts.executing(this.#kind, -1, now);
      queues.finish(this.#request);
      const {execution, watchInitialization} = schema.meters;
      (info.verb === 'watch' ? watchInitialization : execution).observe((now - this.#request.startedAt) / 1000);
    } else return;
    this.#inFlight?.[Symbol.dispose]();
    if (schema.level.isQuiescing && queues.isIdle) this.#parts.reap();
  }

  #wait(): void {
    const {clock, counts} = this.#parts;
    const {
      waitMs,
      request: {signal},
    } = this.#asked;
    counts.waiting(this.#kind, 1, this.#request.arrivedAt);
    this.#ready = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#request.dispatched = () => {
      this.#endWait();
      this.#begin();
      this.#resolve!();
    };
    if (waitMs < Infinity) this.#timer = clock.schedule(waitMs, this.#over);
    if (signal.aborted) this.#over();
    else signal.addEventListener('abort', this.#over, {once: true});
  }

  readonly #over = (): void => this[Symbol.dispose]();

  #cancel(): void {
    const {schema, times} = this.#asked;
    this.#endWait();
    schema.level.queues.cancel(this.#request);
    const waitedMs = this.#parts.clock.monotonic() - this.#request.arrivedAt;
    times.queueWaitMs = waitedMs;
    // As upstream, the label says that it was accepted.
    schema.meters.waitedToExecute.observe(waitedMs / 1000);
    this.#ready!.catch(() => undefined); // Nobody may be waiting for it any more.
    this.#reject!(this.#refusal());
  }

  #endWait(): void {
    const {clock, counts} = this.#parts;
    counts.waiting(this.#kind, -1, clock.monotonic());
    this.#timer?.[Symbol.dispose]();
    this.#asked.request.signal.removeEventListener('abort', this.#over);
  }

  #begin(): void {
    const {schema, times} = this.#asked;
    const {arrivedAt, startedAt} = this.#request;
    this.#parts.counts.executing(this.#kind, 1, startedAt);
    if (schema.level.excess === 'exempt') return;
    const waitedMs = startedAt - arrivedAt;
    schema.meters.waitedToExecute.observe(waitedMs / 1000);
    if (waitedMs > 0) times.queueWaitMs = waitedMs;
  }

  #refusal(): Error {
    const {retryAfter} = this.#asked.schema.level;
    retryAfter.rejected(this.#parts.clock.now());
    return new TooManyRequests(retryAfter.seconds);
  }
}
