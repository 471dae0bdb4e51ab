import {withClockHeld, type Clock} from '#src/base/clock.js';
import {runStepsWithPauses, type Steps} from '#src/base/steps.js';
import {FairYielder} from '#src/base/turn.js';
import {requestTimeout} from './timeout.js';

/** The request that work is done for; absent parts for the server's own work. */
export interface WorkingRequest {
  readonly user?: {readonly name: string} | undefined;
  readonly original?: {readonly deadlineAt?: number | undefined; readonly signal: AbortSignal} | undefined;
}

/** Throws 504 for a request whose client is gone, or whose deadline has passed. */
export const checkEnd = ({original}: WorkingRequest, clock: Pick<Clock, 'monotonic'>): void => {
  if (!original) return;
  const {deadlineAt = Infinity, signal} = original;
  if (signal.aborted || clock.monotonic() >= deadlineAt) throw requestTimeout();
};

/**
 * Runs work of a request, such as the evaluation of expressions, at once if it is short. Otherwise it is done in pieces
 * of a millisecond, and between them other requests have their turn, those of one user together as often as those of
 * another. It ends with 504 when the request does.
 */
export class RequestTurns {
  readonly #clock: Clock;
  readonly #request: WorkingRequest;
  #turns: FairYielder | undefined;

  constructor(clock: Clock, request: WorkingRequest) {
    this.#clock = clock;
    this.#request = request;
  }

  run<T>(work: Steps<T>): T | Promise<T> {
    return runStepsWithPauses(work, () => this.pause());
  }

  /**
   * Returns a promise to await before the next of many short pieces of work, once work has lasted a millisecond in this
   * turn; undefined before.
   */
  pause(): Promise<void> | undefined {
    this.#turns ??= new FairYielder(this.#clock);
    const turn = this.#turns.pause(this.#request.user?.name ?? '');
    return turn && withClockHeld(this.#clock, () => turn).then(() => checkEnd(this.#request, this.#clock));
  }
}
