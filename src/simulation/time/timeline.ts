// The time of simulated nodes and pods: how long something runs, or waits, must not depend on a wall clock that is set
// forward or back.

import type {Clock} from '#src/base/clock.js';

/** The time from one change of the wall clock to the next. */
interface Segment {
  readonly start: number;
  /** What the wall clock is ahead of the timeline. */
  readonly offset: number;
}

/** A smaller difference between the clocks is no change of the wall clock. */
const toleranceMs = 500;

/** How many changes of the wall clock are known. Times before them are converted as those after the first known one. */
const maxSegments = 64;

/** A time in ms that goes on evenly. It is the wall clock's, in ms since the epoch, until that one is changed. */
export class Timeline {
  readonly #clock: Clock;
  readonly #origin: number;
  /** From the first to the current one. */
  readonly #segments: Segment[];

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#origin = clock.now() - clock.monotonic();
    this.#segments = [{start: -Infinity, offset: 0}];
  }

  now(): number {
    const now = Math.floor(this.#origin + this.#clock.monotonic());
    const offset = this.#clock.now() - now;
    if (Math.abs(offset - this.#segments.at(-1)!.offset) > toleranceMs) {
      this.#segments.push({start: now, offset});
      if (this.#segments.length > maxSegments) this.#segments.shift();
    }
    return now;
  }

  /** Returns what the wall clock showed at a moment of the timeline. */
  wallOf(at: number): number {
    const {offset} = this.#segments.findLast(({start}) => start <= at) ?? this.#segments[0]!;
    return at + offset;
  }

  /**
   * Returns the latest moment of the timeline at which the wall clock showed a time. For one that it never showed: by
   * the current clock, but not after now, since what was noted has been.
   */
  timeOf(wall: number): number {
    const now = this.now();
    let end = now;
    for (const {start, offset} of this.#segments.toReversed()) {
      const at = wall - offset;
      if (at >= start && at <= end) return at;
      end = start;
    }
    return Math.min(now, wall - this.#segments.at(-1)!.offset);
  }
}
