import {sleep, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Counter, Gauge, Meter} from '#src/base/meter.js';
import {jittered, type Random} from '#src/base/random.js';
import {aborted, firstOf} from '#src/base/signals.js';
import type {LeaseLock} from './lease-lock.js';
import {isSameRecord, type LeaderRecord} from './record.js';
import {callTimeoutMs, validateElection, retryJitter, type LeaseTiming} from './timing.js';

export interface ElectorOptions extends LeaseTiming {
  readonly lock: LeaseLock;
  readonly identity: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  /** Whether the lock is released at a stop, after all work under it has ended. Otherwise the lease expires. */
  readonly releaseOnStop?: boolean;
  /** Whether the API server elects the holder among candidates: the elector then never creates or seizes the lease. */
  readonly coordinated?: boolean;
  /** Called once for every holder observed, including the first. */
  readonly onNewLeader?: (identity: string) => void;
}

/** How long after its lease expired a holder that still works is reported as unhealthy. */
const healthToleranceMs = 20_000;

/**
 * Leader election: runs something on one replica at a time. It does not fence: a leader that hangs and resumes may act
 * for a moment beside the next one. Clocks of other machines are not trusted: a lease has expired when this replica, by
 * its own monotonic time, has seen it unchanged for its whole duration. So clocks may differ by hours; only their rates
 * matter: lease duration / renew deadline must exceed the worst ratio between two.
 */
export class Elector {
  readonly #options: ElectorOptions;
  readonly #status: Gauge;
  readonly #slowPath: Counter;
  #observed: LeaderRecord | undefined;
  /** Monotonic time of the last observed change of the record. */
  #observedAt = 0;
  #reported: string | undefined;

  constructor(options: ElectorOptions) {
    const error = validateElection(options, options.lock, options.identity);
    if (error !== undefined) throw new Error(error);
    this.#options = options;
    const labels = ['name'];
    this.#status = options.meter.gauge({
      name: 'leader_election_master_status',
      help: 'Whether this replica leads: 1, or stands by: 0.',
      labels,
    });
    this.#slowPath = options.meter.counter({
      name: 'leader_election_slowpath_total',
      help: 'Renewals that had to read the lock first.',
      labels,
    });
    this.#status.set(0, this.#labels);
  }

  get isLeader(): boolean {
    return this.#observed?.holder === this.#options.identity;
  }

  /** The last observed holder; empty if there is none. */
  get leader(): string {
    return this.#observed?.holder ?? '';
  }

  /**
   * Throws when this replica still holds a lease that expired long ago, which means that it hangs. A standby is always
   * healthy.
   */
  check(): void {
    const {clock, leaseDurationMs, lock} = this.#options;
    if (this.isLeader && clock.monotonic() > this.#observedAt + leaseDurationMs + healthToleranceMs) {
      throw new Error(`failed election to renew leadership on lease ${lock.name}`);
    }
  }

  /**
   * Acquires the lock, calls `onStartedLeading` with a signal that aborts when leadership is lost or `signal` aborts,
   * and resolves when that call has ended. If the call resolves to `unfinished`, some of its work may still be in
   * progress, and the lock is not released. Rejects with what it rejects with. Resolves to `stopped` also when `signal`
   * aborts before the lock is acquired.
   */
  async run(signal: AbortSignal, onStartedLeading: (leading: AbortSignal) => Promise<'unfinished' | void>): Promise<'stopped' | 'lost'> {
    if (!(await this.#acquire(signal))) return 'stopped';
    const {lock, identity, log} = this.#options;
    const leading = new AbortController();
    lock.recordEvent(`${identity} became leader`);
    log.info({identity, lease: lock.name}, 'successfully acquired lease');
    this.#status.set(1, this.#labels);
    const work = onStartedLeading(leading.signal).finally(() => leading.abort(aborted));
    work.catch(() => {}); // Awaited below, after renewing has ended.
    using either = firstOf(signal, leading.signal);
    const ending = await this.#renew(either.signal);
    this.#status.set(0, this.#labels);
    lock.recordEvent(`${identity} stopped leading`);
    leading.abort(ending === 'lost' ? new LeadLost() : signal.reason);
    const end = await work;
    if (ending === 'stopped' && end !== 'unfinished' && this.#options.releaseOnStop) await this.#release();
    return ending;
  }

  async #acquire(signal: AbortSignal): Promise<boolean> {
    const {clock, random, log, lock, retryPeriodMs} = this.#options;
    log.info({lease: lock.name, namespace: lock.namespace}, 'attempting to acquire leader lease');
    while (!signal.aborted) {
      const acquired = await this.#attempt(signal);
      this.#report();
      if (acquired) return true;
      await sleep(clock, jittered(random, retryPeriodMs, retryJitter), signal).catch(() => {});
    }
    return false;
  }

  /** Renews until a whole renew deadline has passed without success, or `signal` aborts. */
  async #renew(signal: AbortSignal): Promise<'stopped' | 'lost'> {
    const {clock, log, lock, renewDeadlineMs, retryPeriodMs} = this.#options;
    for (;;) {
      await sleep(clock, retryPeriodMs, signal).catch(() => {});
      if (signal.aborted) return 'stopped';
      const renewed = await this.#renewOnce(signal);
      this.#report();
      if (signal.aborted) return 'stopped';
      if (renewed) continue;
      log.error({lease: lock.name, afterMs: renewDeadlineMs}, 'failed to renew lease');
      return 'lost';
    }
  }

  /** One renew deadline: tries each period until it succeeds; returns false at the deadline. */
  async #renewOnce(signal: AbortSignal): Promise<boolean> {
    const {clock, renewDeadlineMs, retryPeriodMs} = this.#options;
    const window = new AbortController();
    using _ = clock.schedule(renewDeadlineMs, () => window.abort(aborted));
    using either = firstOf(signal, window.signal);
    while (!either.signal.aborted) {
      if (await this.#attempt(either.signal)) return true;
      await sleep(clock, retryPeriodMs, either.signal).catch(() => {});
    }
    return false;
  }

  /** Tries once to acquire or renew the lock. Any failure counts as not holding it. */
  async #attempt(signal: AbortSignal): Promise<boolean> {
    try {
      if (this.#options.coordinated) return await this.#renewElected(signal);
      return (await this.#renewFast(signal)) || (await this.#readAndAcquire(signal));
    } catch (error) {
      const {log, lock} = this.#options;
      if (!signal.aborted) log.error({lease: lock.name, err: error}, 'could not retrieve or update the lease');
      return false;
    }
  }

  /** The fast path of the holder of a valid lease: updates from the last observed version, without reading. */
  async #renewFast(signal: AbortSignal): Promise<boolean> {
    const {lock, log} = this.#options;
    if (!this.#observed || !this.isLeader || !this.#isValid()) return false;
    const record = this.#claim(this.#observed);
    try {
      await this.#withTimeout(signal, call => lock.update(record, call));
    } catch (error) {
      if (signal.aborted) throw error;
      log.error({lease: lock.name, err: error}, 'failed to update lease optimistically, falling back to slow path');
      return false;
    }
    this.#observe(record);
    return true;
  }

  async #readAndAcquire(signal: AbortSignal): Promise<boolean> {
    const {lock} = this.#options;
    const found = await this.#withTimeout(signal, call => lock.get(call));
    if (!found) {
      const record = this.#claim(undefined);
      await this.#withTimeout(signal, call => lock.create(record, call));
      this.#observe(record);
      return true;
    }
    if (!isSameRecord(this.#observed, found)) this.#observe(found);
    if (found.holder && !this.isLeader && this.#isValid()) return false;
    if (this.isLeader) this.#slowPath.add(this.#labels);
    const record = this.#claim(found);
    await this.#withTimeout(signal, call => lock.update(record, call));
    this.#observe(record);
    return true;
  }

  /**
   * Renews the lease if this replica was elected, unless another one is to follow it: then the lease expires
   * (KEP-4355).
   */
  async #renewElected(signal: AbortSignal): Promise<boolean> {
    const {lock} = this.#options;
    const found = await this.#withTimeout(signal, call => lock.get(call));
    if (!found) return false;
    if (!isSameRecord(this.#observed, found)) this.#observe(found);
    if (!this.isLeader || !this.#isValid() || found.preferred) return false;
    this.#slowPath.add(this.#labels);
    const record = this.#claim(found);
    await this.#withTimeout(signal, call => lock.update(record, call));
    this.#observe(record);
    return true;
  }

  /** Returns the record that makes this replica the holder; a lease it already holds keeps its acquire time. */
  #claim(of: LeaderRecord | undefined): LeaderRecord {
    const {clock, identity, leaseDurationMs} = this.#options;
    const now = Math.floor(clock.now());
    const mine = of?.holder === identity;
    return {
      holder: identity,
      durationSeconds: Math.floor(leaseDurationMs / 1000),
      acquiredMs: mine && of.acquiredMs ? of.acquiredMs : now,
      renewedMs: now,
      transitions: of ? of.transitions + (mine ? 0 : 1) : 0,
    };
  }

  #observe(record: LeaderRecord): void {
    this.#observed = record;
    this.#observedAt = this.#options.clock.monotonic();
  }

  #isValid(): boolean {
    return this.#observedAt + (this.#observed?.durationSeconds ?? 0) * 1000 > this.#options.clock.monotonic();
  }

  #report(): void {
    if (!this.#observed || this.#observed.holder === this.#reported) return;
    this.#reported = this.#observed.holder;
    this.#options.onNewLeader?.(this.#reported);
  }

  /** Runs a call that ends with the signal, or when it takes too long. */
  async #withTimeout<R>(signal: AbortSignal, call: (signal: AbortSignal) => Promise<R>): Promise<R> {
    const {clock} = this.#options;
    const timeout = new AbortController();
    using _ = clock.schedule(callTimeoutMs(this.#options), () => timeout.abort(new Error('the call about the lease took too long')));
    using either = firstOf(signal, timeout.signal);
    either.signal.throwIfAborted();
    const ended = new Promise<never>((_resolve, reject) =>
      either.signal.addEventListener('abort', () => reject(either.signal.reason as Error), {once: true}),
    );
    return await Promise.race([call(either.signal), ended]);
  }

  /**
   * Clears the holder, so that another replica can acquire the lock at once. Does nothing if the lock is held by
   * another.
   */
  async #release(): Promise<void> {
    const {lock, identity, log, clock, renewDeadlineMs} = this.#options;
    const window = new AbortController();
    using _ = clock.schedule(renewDeadlineMs, () => window.abort(aborted));
    try {
      const found = await this.#withTimeout(window.signal, call => lock.get(call));
      if (found?.holder !== identity) return;
      const now = Math.floor(clock.now());
      const record: LeaderRecord = {holder: '', durationSeconds: 1, acquiredMs: now, renewedMs: now, transitions: found.transitions};
      await this.#withTimeout(window.signal, call => lock.update(record, call));
      this.#observe(record);
    } catch (error) {
      log.error({lease: lock.name, err: error}, 'failed to release lease');
    }
  }

  get #labels(): {readonly name: string} {
    return {name: this.#options.lock.name};
  }
}

/** The reason of a leading signal's abort: another replica may lead by now. */
export class LeadLost extends Error {
  override readonly name = 'LeadLost';

  constructor() {
    super('the lease could not be renewed in time');
  }
}
