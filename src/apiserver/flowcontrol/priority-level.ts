import type {Clock} from '#src/base/clock.js';
import type {PriorityLevel} from '#src/resources/flowcontrol/bootstrap.js';
import type {LevelMeters} from '#src/apiserver/flowcontrol/fair-queuing/level-meters.js';
import {QueueSet, type Excess} from '#src/apiserver/flowcontrol/fair-queuing/queue-set.js';
import {RetryAfter} from './retry-after.js';

/** The concurrency that a level is given by its configuration. */
interface Shares {
  readonly shares: number;
  readonly lendablePercent: number;
  /** Undefined for no limit. */
  readonly borrowingPercent: number | undefined;
}

/** Half of the smoothed demand is forgotten after five minutes without demand. */
const smoothing = 0.977;

/** The least part of a request's level that one request may occupy, where the level has queues. */
const widestPart = 0.15;

/** Returns what a level does with requests above its limit; undefined for a specification with contradictions. */
export const excessOf = ({metadata, spec}: PriorityLevel): Excess | undefined => {
  const isExempt = spec?.type === 'Exempt';
  if (!spec || isExempt !== (metadata?.name === 'exempt')) return undefined;
  if (isExempt) return spec.exempt && !spec.limited ? 'exempt' : undefined;
  const {limitResponse} = spec.limited ?? {};
  if (!limitResponse || spec.exempt) return undefined;
  if (limitResponse.type === 'Reject') return limitResponse.queuing ? undefined : 'reject';
  const {queues = 0, handSize = 0, queueLengthLimit = 0} = limitResponse.queuing ?? {};
  return queues >= 1 && handSize >= 1 && handSize <= queues ? {queues, handSize, queueLengthLimit} : undefined;
};

const sharesOf = ({spec}: PriorityLevel): Shares => {
  const {nominalConcurrencyShares: shares = 0, lendablePercent = 0} = spec?.limited ?? spec?.exempt ?? {};
  return {shares, lendablePercent, borrowingPercent: spec?.limited?.borrowingLimitPercent};
};

/** A priority level in force: its configuration, queues, limits and demand. */
export class PriorityLevelState {
  readonly name: string;
  readonly queues: QueueSet;
  readonly meters: LevelMeters;
  readonly retryAfter = new RetryAfter();
  uid = '';
  excess: Excess;
  /** The widest request, in seats; undefined without a limit. */
  maxSeats: number | undefined = undefined;
  /** Whether its object is gone, or refers to nothing usable any more, and only its last requests keep it. */
  isQuiescing = false;
  #shares: Shares;

  constructor(level: PriorityLevel, excess: Excess, meters: LevelMeters, clock: Pick<Clock, 'monotonic' | 'schedule'>) {
    this.name = level.metadata?.name ?? '';
    this.meters = meters;
    this.excess = excess;
    this.queues = new QueueSet(excess, meters, clock);
    this.#shares = sharesOf(level);
    this.configure(level, excess);
  }

  get shares(): number {
    return this.#shares.shares;
  }

  /** Takes the specification of an object that was changed. The limits follow by `divide`. */
  configure(level: PriorityLevel, excess: Excess): void {
    this.uid = level.metadata?.uid ?? '';
    this.excess = excess;
    this.#shares = sharesOf(level);
    this.isQuiescing = false;
  }

  /** Sets the limits to this level's part of the seats of the server. */
  divide(serverSeats: number, allShares: number): void {
    const {shares, lendablePercent, borrowingPercent} = this.#shares;
    const {limits} = this.meters;
    const nominal = Math.ceil((serverSeats * shares) / allShares);
    const lendable = Math.round((nominal * lendablePercent) / 100);
    limits.nominal = nominal;
    limits.lower = nominal - lendable;
    limits.upper = nominal + (borrowingPercent === undefined ? serverSeats : Math.round((nominal * borrowingPercent) / 100));
    this.maxSeats = this.#widest(nominal);
  }

  /** Takes the demand since the last call into account. */
  takeDemand(now: number): void {
    const {demand, integrator} = this.meters;
    const {seconds, average, deviation, highest} = integrator.reset(now);
    demand.highest = Math.round(highest);
    if (seconds <= 0) return;
    const envelope = average + deviation;
    demand.average = average;
    demand.deviation = deviation;
    demand.smoothed = Math.max(envelope, smoothing * demand.smoothed + (1 - smoothing) * envelope);
  }

  /** The limit that an adjustment does not go below, as long as the sum of all allows it. */
  get leastLimit(): number {
    const {limits, demand} = this.meters;
    return Math.max(limits.lower, this.excess === 'exempt' ? demand.highest : Math.min(limits.nominal, demand.highest));
  }

  /** Puts a limit in force. Ratios of a level without seats are relative to a tenth of the server's. */
  limit(current: number, serverSeats: number): void {
    this.meters.limits.current = current;
    this.queues.configure(this.excess, current, current > 0 ? current : Math.max(1, Math.round(serverSeats / 10)));
  }

  #widest(nominal: number): number | undefined {
    if (typeof this.excess === 'string') return undefined;
    return Math.max(1, Math.min(Math.ceil(nominal * widestPart), Math.floor(nominal / this.excess.handSize)));
  }
}
