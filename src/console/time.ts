// The time of the plane behind a console: real, or virtual and moved from the page.

import {badRequest, conflict} from '#src/api/status.js';
import {sleep, type Clock} from '#src/base/clock.js';
import {messageOf} from '#src/base/message.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';

/** What the page shows of the time, and does with it. */
export interface ConsoleTime extends Disposable {
  /** Real time cannot be moved. */
  readonly kind: 'real' | 'virtual';
  state(): TimeState;
  /** Advances, runs or pauses the time as the page asks. Throws for what is no such request. */
  act(request: Readonly<Record<string, unknown>>): Promise<TimeState>;
}

export interface TimeState {
  readonly kind: 'real' | 'virtual';
  /** In milliseconds since the epoch. */
  readonly now: number;
  /** When the next timer is due, if there is one. */
  readonly next?: number | undefined;
  /** How many timers wait. */
  readonly timers?: number;
  /** How many times as fast as real time it runs; 0 while it does not. */
  readonly rate?: number;
  /** Whether an advance is under way. */
  readonly isMoving?: boolean;
  /** Why the time has stopped by itself. */
  readonly error?: string | undefined;
}

/** The time of a cluster that runs on the system's clock. */
export const realTime = (clock: Clock): ConsoleTime => ({
  kind: 'real',
  state: () => ({kind: 'real', now: clock.now()}),
  act: async () => {
    throw badRequest('the cluster runs on real time, which nobody moves');
  },
  [Symbol.dispose]() {},
});

/** The longest that one request advances the time: a year. */
const longestMs = 366 * 24 * 3_600_000;
const fastest = 86_400;
/** How often a running clock is moved. */
const tickMs = 100;

/** A virtual clock that is moved from the page. `real` paces it while it runs. */
export class VirtualTime implements ConsoleTime {
  readonly kind = 'virtual';
  readonly #clock: VirtualClock;
  readonly #real: Clock;
  #rate = 0;
  #error: string | undefined;
  #moving: AbortController | undefined;

  constructor(clock: VirtualClock, real: Clock) {
    this.#clock = clock;
    this.#real = real;
  }

  state(): TimeState {
    const {next, pending} = this.#clock;
    return {
      kind: 'virtual',
      now: this.#clock.now(),
      next,
      timers: pending,
      rate: this.#rate,
      isMoving: this.#moving !== undefined,
      error: this.#error,
    };
  }

  async act({action, ms, rate}: Readonly<Record<string, unknown>>): Promise<TimeState> {
    switch (action) {
      case 'advance':
        await this.#advance(numberOf(ms, 'ms', longestMs));
        break;
      case 'next': {
        const {next} = this.#clock;
        if (next !== undefined) await this.#advance(Math.max(0, next - this.#clock.now()));
        break;
      }
      case 'run':
        this.#run(numberOf(rate, 'rate', fastest));
        break;
      case 'pause':
        this.#moving?.abort(new Error('paused'));
        break;
      default:
        throw badRequest('action must be advance, next, run or pause');
    }
    return this.state();
  }

  [Symbol.dispose](): void {
    this.#moving?.abort(new Error('the console is closed'));
  }

  /** Begins to move; whoever moves is alone. */
  #begin(): AbortController {
    if (this.#moving) throw conflict({group: '', resource: 'console'}, 'time', 'the time is being moved: pause it first');
    this.#error = undefined;
    return (this.#moving = new AbortController());
  }

  async #advance(ms: number): Promise<void> {
    const moving = this.#begin();
    try {
      await this.#clock.advance(ms, moving.signal);
    } catch (error) {
      if (!moving.signal.aborted) throw badRequest(`the time has stopped: ${messageOf(error)}`, error);
    } finally {
      this.#moving = undefined;
    }
  }

  #run(rate: number): void {
    const {signal} = this.#begin();
    this.#rate = rate;
    const run = async (): Promise<void> => {
      for (;;) {
        await sleep(this.#real, tickMs, signal);
        using _ = this.#real.hold();
        await this.#clock.advance(tickMs * rate, signal);
      }
    };
    run()
      .catch((error: unknown) => {
        if (!signal.aborted) this.#error = messageOf(error);
      })
      .finally(() => {
        this.#rate = 0;
        this.#moving = undefined;
      });
  }
}

const numberOf = (value: unknown, name: string, most: number): number => {
  if (typeof value !== 'number' || !(value > 0) || value > most) throw badRequest(`${name} must be a number above 0, at most ${most}`);
  return value;
};
