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
