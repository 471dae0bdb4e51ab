// Fair queuing (KEP-1040) for the requests of one priority level. Virtual time `R` advances at the rate at which each
// active queue would be served if all were served at once; requests are dispatched in the order in which they would end
// then. The states of a request: waiting in a queue, executing, over; its seats may stay occupied for a while after
// that.

import type {Clock} from '#src/base/clock.js';
import type {RejectionReason} from './flow-meters.js';
import type {LastDispatch, LevelMeters} from './level-meters.js';
import {LinkedQueue} from '#src/base/collections/linked-queue.js';
import {estimatedSeconds, narrowed, Queue, seatSeconds, seatsOf, type FlowRequest} from './queue.js';

/** The queues of a level. */
export interface Queuing {
  readonly queues: number;
  readonly handSize: number;
  readonly queueLengthLimit: number;
}

/** What a level does with requests above its limit: it has none, rejects them, or lets them wait in queues. */
export type Excess = 'exempt' | 'reject' | Queuing;

/** The numbers of requests since the level exists. */
export interface Totals {
  dispatched: number;
  rejected: number;
  cancelled: number;
}

/** Up to this number of queues, those that are empty are kept for the next request. */
const maxKeptQueues = 1024;

/** From here on the virtual time is set back, so that its fractions stay exact. */
const epoch = {end: 3 * 2 ** 30, length: 2 ** 31};

/** The queues, the seats and the virtual time of one level. */
export class QueueSet {
  readonly meters: LevelMeters;
  readonly totals: Totals = {dispatched: 0, rejected: 0, cancelled: 0};
  waiting = 0;
  executing = 0;
  seatsInUse = 0;
  seatsWaiting = 0;
  /** The virtual times of the last dispatch from a queue. */
  readonly last: LastDispatch = {isKnown: false, r: 0, s: 0, least: 0, most: 0, discountedLeast: 0, discountedMost: 0};
  /** Requests that are executed without a queue. */
  readonly queueless = new LinkedQueue<FlowRequest>();
  readonly #clock: Pick<Clock, 'monotonic' | 'schedule'>;
  /** By index. Queues are created with their first request, so that a level may have very many. */
  readonly #queues = new Map<number, Queue>();
  #excess: Excess;
  #limit = 0;
  #r = 0;
  #at: number;
  #activeQueues = 0;
  #lastQueue = 0;
  #dealt = 0;

  constructor(excess: Excess, meters: LevelMeters, clock: Pick<Clock, 'monotonic' | 'schedule'>) {
    this.#clock = clock;
    this.#at = clock.monotonic();
    this.#excess = excess;
    this.meters = meters;
    meters.dispatch = this;
  }

  /** The queues that have been used, by index. */
  get queues(): readonly Queue[] {
    return [...this.#queues.values()].sort((one, other) => one.index - other.index);
  }

  get isIdle(): boolean {
    return this.waiting === 0 && this.executing === 0;
  }

  currentR(): number {
    return this.#r;
  }

  /**
   * Sets the queues and the limit of seats; `seats` is what ratios are relative to. Queues that are too many get no
   * more requests.
   */
  configure(excess: Excess, limit: number, seats: number): void {
    const now = this.#clock.monotonic();
    this.#advance(now);
    this.#excess = excess;
    this.#limit = limit;
    for (const queue of this.#queues.values()) this.#forgetUnused(queue);
    const requests = typeof excess === 'object' ? excess.queues * excess.queueLengthLimit : 1;
    this.meters.relativeTo({requests, seats}, now);
    this.#dispatch(now);
  }

  /** Executes a request, lets it wait, or returns why it is rejected. */
  start(request: FlowRequest): RejectionReason | undefined {
    const now = request.arrivedAt;
    this.#advance(now);
    const excess = this.#excess;
    if (typeof excess === 'string') {
      if (excess === 'reject' && !this.#hasRoomFor(seatsOf(request.work))) return this.#rejected(request, 'concurrency-limit');
      this.queueless.push(request);
      this.#begin(request, now);
      return undefined;
    }
    const queue = this.#chosen(request);
    if (this.seatsInUse >= this.#limit && queue.waiting.length >= excess.queueLengthLimit && !request.isPatient) {
      queue.bound();
      return this.#rejected(request, 'queue-full');
    }
    this.#enqueue(request, queue);
    request.flow.meters.queueLength.observe(queue.waiting.length);
    this.#dispatch(now, queue);
    if (request.state === 'waiting') this.meters.changed(this, now);
    return undefined;
  }

  /** Removes a request whose time to wait is over, or whose client has disconnected. */
  cancel(request: FlowRequest): void {
    if (request.state !== 'waiting') return;
    const now = this.#clock.monotonic();
    this.#advance(now);
    const queue = request.queue!;
    this.#dequeue(request, queue);
    request.state = 'over';
    if (!queue.isActive) this.#activeQueues--;
    this.#forgetUnused(queue);
    queue.bound();
    this.totals.cancelled++;
    this.#rejected(request, 'time-out');
    this.#dispatch(now);
    this.meters.changed(this, now);
  }

  /** Ends the execution of a request. Its seats become free, at once or after its additional latency. */
  finish(request: FlowRequest): void {
    if (request.state !== 'executing') return;
    const now = this.#clock.monotonic();
    this.#advance(now);
    request.state = 'over';
    this.executing--;
    const {queue, work, flow} = request;
    flow.meters.executing--;
    if (queue) {
      queue.executing.remove(request);
      if (!queue.isActive) this.#activeQueues--;
      // The estimate is replaced by the actual duration.
      queue.nextDispatchR += work.initialSeats * ((now - request.startedAt) / 1000 - estimatedSeconds);
      queue.bound();
    } else this.queueless.remove(request);
    if (work.additionalLatencyMs > 0) this.#clock.schedule(work.additionalLatencyMs, () => this.#linger(request));
    else this.#release(request);
    this.#dispatch(now);
    this.meters.changed(this, now);
  }

  #linger(request: FlowRequest): void {
    const now = this.#clock.monotonic();
    this.#advance(now);
    this.#release(request);
    this.#dispatch(now);
    this.meters.changed(this, now);
  }

  #release({queue, work, flow}: FlowRequest): void {
    const seats = seatsOf(work);
    this.seatsInUse -= seats;
    flow.meters.executingSeats -= seats;
    if (!queue) return;
    queue.seatsInUse -= seats;
    this.#forgetUnused(queue);
  }

  #forgetUnused(queue: Queue): void {
    const wanted = typeof this.#excess === 'object' ? this.#excess.queues : 0;
    const isKept = wanted <= maxKeptQueues && queue.index < wanted;
    if (!isKept && !queue.isActive && queue.seatsInUse === 0) this.#queues.delete(queue.index);
  }

  /** The queue of the flow's hand with the least work. */
  #chosen({flow: {hand}}: FlowRequest): Queue {
    // Beginning elsewhere each time, so that flows with overlapping hands (KEP-1040) prefer no queue.
    const offset = this.#dealt++ % hand.length;
    let [chosen, least] = [0, Infinity];
    for (let dealt = 0; dealt < hand.length && least > 0; dealt++) {
      const index = hand[(offset + dealt) % hand.length]!;
      const work = this.#queues.get(index)?.sum.seatSeconds ?? 0;
      if (work < least) [chosen, least] = [index, work];
    }
    let queue = this.#queues.get(chosen);
    if (!queue) this.#queues.set(chosen, (queue = new Queue(chosen)));
    return queue;
  }

  #rejected({flow}: FlowRequest, reason: RejectionReason): RejectionReason {
    this.totals.rejected++;
    flow.meters.rejected(reason);
    return reason;
  }

  #enqueue(request: FlowRequest, queue: Queue): void {
    if (!queue.isActive) {
      queue.nextDispatchR = this.#r;
      this.#activeQueues++;
    }
    request.queue = queue;
    request.arrivalR = this.#r;
    request.state = 'waiting';
    queue.push(request);
    queue.bound();
    const seats = seatsOf(request.work);
    this.waiting++;
    this.seatsWaiting += seats;
    request.flow.meters.waiting++;
    request.flow.meters.waitingSeats += seats;
  }

  #dequeue(request: FlowRequest, queue: Queue): void {
    queue.remove(request);
    const seats = seatsOf(request.work);
    this.waiting--;
    this.seatsWaiting -= seats;
    request.flow.meters.waiting--;
    request.flow.meters.waitingSeats -= seats;
  }

  #begin(request: FlowRequest, now: number): void {
    const seats = seatsOf(request.work);
    request.state = 'executing';
    request.startedAt = now;
    this.executing++;
    this.seatsInUse += seats;
    if (request.queue) request.queue.seatsInUse += seats;
    request.flow.meters.executing++;
    request.flow.meters.executingSeats += seats;
    this.totals.dispatched++;
    request.flow.meters.dispatched.add();
    this.meters.changed(this, now);
    request.dispatched?.();
  }

  /** Dispatches as many requests as there is room for. `latest` is the queue that got a request. */
  #dispatch(now: number, latest?: Queue): void {
    while (this.waiting > 0 && this.seatsInUse < this.#limit) {
      const queue = this.waiting === 1 && latest?.waiting.length === 1 ? this.#alone(latest) : this.#next();
      const request = queue.waiting.first!;
      if (!this.#hasRoomFor(seatsOf(request.work))) return void request.flow.meters.notAccommodated.add();
      this.#dequeue(request, queue);
      request.work = narrowed(request.work, this.#limit);
      queue.executing.push(request);
      queue.nextDispatchR += seatSeconds(request.work);
      queue.bound();
      this.#begin(request, now);
    }
  }

  /**
   * The queue whose oldest request would end first in virtual time; of several the one after that from which was
   * dispatched last.
   */
  #next(): Queue {
    const {last} = this;
    last.least = last.discountedLeast = Infinity;
    last.most = last.discountedMost = -Infinity;
    let soonest = Infinity;
    let chosen: Queue | undefined;
    let left = this.waiting;
    for (const queue of this.#queues.values()) {
      const oldest = queue.waiting.first;
      if (!oldest) continue;
      this.#noteBounds(queue);
      const end = queue.nextDispatchR + seatSeconds(oldest.work);
      if (end < soonest || (end === soonest && this.#turnsUntil(queue) < this.#turnsUntil(chosen!))) [soonest, chosen] = [end, queue];
      left -= queue.waiting.length;
      if (left === 0) break;
    }
    // While there is no room, the queues keep their turns.
    if (this.#hasRoomFor(seatsOf(chosen!.waiting.first!.work))) this.#lastQueue = chosen!.index;
    return this.#noted(chosen!);
  }

  /** How many queues come between the one that was dispatched from last and this one. */
  #turnsUntil({index}: Queue): number {
    return index > this.#lastQueue ? index : index + Number.MAX_SAFE_INTEGER / 2;
  }

  /** The queue with the only request that waits. */
  #alone(queue: Queue): Queue {
    const {last} = this;
    last.least = last.discountedLeast = Infinity;
    last.most = last.discountedMost = -Infinity;
    this.#noteBounds(queue);
    return this.#noted(queue);
  }

  #noteBounds({nextDispatchR, seatsInUse}: Queue): void {
    const {last} = this;
    const discounted = nextDispatchR - seatsInUse * estimatedSeconds;
    if (nextDispatchR < last.least) last.least = nextDispatchR;
    if (nextDispatchR > last.most) last.most = nextDispatchR;
    if (discounted < last.discountedLeast) last.discountedLeast = discounted;
    if (discounted > last.discountedMost) last.discountedMost = discounted;
  }

  #noted(chosen: Queue): Queue {
    this.last.isKnown = true;
    this.last.r = this.#r;
    this.last.s = chosen.nextDispatchR;
    return chosen;
  }

  /** Whether a request of this width can be executed now. One that is wider than the limit is executed alone. */
  #hasRoomFor(seats: number): boolean {
    if (this.#excess === 'exempt') return true;
    return seats > this.#limit ? this.executing === 0 : this.seatsInUse + seats <= this.#limit;
  }

  /** Advances the virtual time, assuming that nothing has changed since the last time. */
  #advance(now: number): void {
    const seconds = (now - this.#at) / 1000;
    this.#at = now;
    if (this.#activeQueues === 0 || seconds <= 0) return;
    this.#r += (Math.min(this.seatsInUse + this.seatsWaiting, this.#limit) / this.#activeQueues) * seconds;
    if (this.#r >= epoch.end) this.#setBack();
  }

  #setBack(): void {
    this.#r -= epoch.length;
    for (const queue of this.#queues.values()) {
      // The queue sets an idle one forward with its next request.
      queue.nextDispatchR = queue.isActive ? queue.nextDispatchR - epoch.length : 0;
      for (const request of queue.waiting) request.arrivalR -= epoch.length;
    }
    this.meters.epochAdvanced();
  }
}
