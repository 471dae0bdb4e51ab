// The time of simulated nodes and pods: durations and waits must not depend on changes of the wall clock.

import type {Clock} from '#src/base/clock.js';

/** The time between two changes of the wall clock. */
interface Segment {
  readonly start: number;
  /** The offset of the wall clock from the timeline, in ms. */
  readonly offset: number;
}

/** A smaller difference between the clocks is not a change of the wall clock. */
const toleranceMs = 500;

/**
 * The maximum number of remembered changes of the wall clock. Earlier times are converted with the oldest remembered
 * offset.
 */
const maxSegments = 64;

/** A steady time in ms. It equals the wall clock, in ms since the epoch, until that is changed. */
export class Timeline {
  readonly #clock: Clock;
  readonly #origin: number;
  /** The periods, from the first to the current one. */
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

  /** Converts a time of the timeline to the wall clock. */
  wallOf(at: number): number {
    const {offset} = this.#segments.findLast(({start}) => start <= at) ?? this.#segments[0]!;
    return at + offset;
  }

  /**
   * Converts a time of the wall clock to the latest matching time of the timeline. A time that the clock never showed
   * is converted with the current offset, but limited to now, since recorded times are in the past.
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
