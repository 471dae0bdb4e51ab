// The requests of a level and its queues: the work of a request, the request while it waits and is executed, and one
// queue.

import type {UserInfo} from '#src/api/user.js';
import type {RequestInfo} from '#src/apiserver/request/request-info.js';
import type {FlowMeters} from './flow-meters.js';
import {LinkedQueue, type Linked} from '#src/base/collections/linked-queue.js';

/** The work of a request: the seats it occupies, and for how long after its execution. */
export interface Work {
  /** The seats during its execution. */
  readonly initialSeats: number;
  /** The seats during the additional latency. */
  readonly finalSeats: number;
  /** How long the seats stay occupied after the execution, in ms, while the events of a write are sent to watchers. */
  readonly additionalLatencyMs: number;
}

/** Returns the work of a request that occupies seats only while it is executed. */
export const workOf = (initialSeats: number): Work => ({initialSeats, finalSeats: 0, additionalLatencyMs: 0});

/** The assumed duration of an execution in seconds, until it is known. */
export const estimatedSeconds = 0.003;

/** The seats that are reserved for a request from beginning to end. */
export const seatsOf = ({initialSeats, finalSeats}: Work): number => Math.max(initialSeats, finalSeats);

const finalWork = ({finalSeats, additionalLatencyMs}: Work): number => (finalSeats * additionalLatencyMs) / 1000;

/** The estimated work in seat-seconds. */
export const seatSeconds = (work: Work): number => work.initialSeats * estimatedSeconds + finalWork(work);

/** Returns the same amount of work with fewer final seats, for a longer time. */
export const narrowed = (work: Work, seats: number): Work =>
  work.finalSeats > seats ? {...work, finalSeats: seats, additionalLatencyMs: (finalWork(work) / seats) * 1000} : work;

/** What a request is handled by: its schema and what distinguishes its flow from others of the schema. */
export interface Flow {
  readonly schema: string;
  readonly distinguisher: string;
  /** The queues that were dealt to it. */
  readonly hand: readonly number[];
  readonly meters: FlowMeters;
}

/** What is known of a request besides its flow and its work. */
interface RequestOfFlow {
  readonly user: UserInfo;
  readonly info: RequestInfo;
  readonly isPatient?: boolean;
}

/** A request in a queue set, while it waits and while it is executed. */
export class FlowRequest implements Linked<FlowRequest> {
  readonly flow: Flow;
  readonly user: UserInfo;
  readonly info: RequestInfo;
  /** Whether it waits even in a queue that is full. */
  readonly isPatient: boolean;
  /** When it arrived, by the monotonic clock. */
  readonly arrivedAt: number;
  work: Work;
  /** Absent if it was executed without a queue. */
  queue: Queue | undefined;
  /** The virtual time of its arrival. */
  arrivalR = 0;
  /** When its execution began; NaN before. */
  startedAt = Number.NaN;
  state: 'new' | 'waiting' | 'executing' | 'over' = 'new';
  /** Called when a waiting request is executed. */
  dispatched: (() => void) | undefined;
  previous: FlowRequest | undefined;
  next: FlowRequest | undefined;

  constructor(flow: Flow, {user, info, isPatient = false}: RequestOfFlow, work: Work, arrivedAt: number) {
    this.flow = flow;
    this.user = user;
    this.info = info;
    this.isPatient = isPatient;
    this.work = work;
    this.arrivedAt = arrivedAt;
  }
}

/** One queue of a level: requests that wait, and those that were dispatched from it and have not ended. */
export class Queue {
  readonly index: number;
  readonly waiting = new LinkedQueue<FlowRequest>();
  readonly executing = new LinkedQueue<FlowRequest>();
  /** The virtual time at which its next request is dispatched. */
  nextDispatchR = 0;
  seatsInUse = 0;
  /** Sums over the waiting requests. */
  readonly sum = {initialSeats: 0, seats: 0, seatSeconds: 0};

  constructor(index: number) {
    this.index = index;
  }

  get isActive(): boolean {
    return this.waiting.length > 0 || this.executing.length > 0;
  }

  push(request: FlowRequest): void {
    this.waiting.push(request);
    this.#add(request, 1);
  }

  remove(request: FlowRequest): void {
    this.waiting.remove(request);
    this.#add(request, -1);
    if (this.waiting.length === 0) this.sum.seatSeconds = 0; // Rounding errors do not add up.
  }

  /**
   * A queue that does not use its share must not save it up: no request is dispatched before it arrived in virtual
   * time.
   */
  bound(): void {
    const oldest = this.waiting.first;
    if (oldest && this.nextDispatchR < oldest.arrivalR) this.nextDispatchR = oldest.arrivalR;
  }

  #add({work}: FlowRequest, sign: 1 | -1): void {
    this.sum.initialSeats += sign * work.initialSeats;
    this.sum.seats += sign * seatsOf(work);
    this.sum.seatSeconds += sign * seatSeconds(work);
  }
}
