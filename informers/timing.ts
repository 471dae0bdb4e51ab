import {Observable, type MonoTypeOperatorFunction} from 'rxjs';
import type {Clock} from '#src/base/clock.js';

/** Emits once and completes after `ms` on `clock`. */
export const afterDelay = (clock: Clock, ms: number): Observable<void> =>
  new Observable(subscriber => {
    const timer = clock.schedule(ms, () => {
      subscriber.next();
      subscriber.complete();
    });
    return () => timer[Symbol.dispose]();
  });

/** A stream that fails after silence; `at` is the time of its last event. */
interface Heard {
  at: number;
  fail(): void;
}

/**
 * Fails streams that have been silent for too long, with one timer for all: a process has many, and most receive events
 * at the same times.
 */
class Silences {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #streams = new Set<Heard>();
  #timer: Disposable | undefined;

  constructor(clock: Clock, ms: number) {
    this.#clock = clock;
    this.#ms = ms;
  }

  add(stream: Heard): Disposable {
    this.#streams.add(stream);
    // The timer of an earlier stream does not expire later than this one's would.
    this.#timer ??= this.#clock.schedule(this.#ms, this.#look);
    return {
      [Symbol.dispose]: () => {
        this.#streams.delete(stream);
        if (this.#streams.size > 0) return;
        this.#timer?.[Symbol.dispose]();
        this.#timer = undefined;
      },
    };
  }

  readonly #look = (): void => {
    const now = this.#clock.monotonic();
    const silent = [...this.#streams].filter(({at}) => at + this.#ms <= now);
    for (const stream of silent) this.#streams.delete(stream);
    let next = Infinity;
    for (const {at} of this.#streams) next = Math.min(next, at + this.#ms);
    this.#timer = this.#streams.size > 0 ? this.#clock.schedule(next - now, this.#look) : undefined;
    for (const stream of silent) stream.fail();
  };
}

const silences = new WeakMap<Clock, Map<number, Silences>>();

const silencesOf = (clock: Clock, ms: number): Silences => {
  let byLength = silences.get(clock);
  if (!byLength) silences.set(clock, (byLength = new Map()));
  let known = byLength.get(ms);
  if (!known) byLength.set(ms, (known = new Silences(clock, ms)));
  return known;
};

/** Fails the stream with `failure` once it has emitted nothing for `ms`. */
export const neverSilentFor =
  <T>(clock: Clock, ms: number, failure: () => Error): MonoTypeOperatorFunction<T> =>
  source =>
    new Observable(subscriber => {
      const heard: Heard = {at: clock.monotonic(), fail: () => subscriber.error(failure())};
      const watched = silencesOf(clock, ms).add(heard);
      subscriber.add(() => watched[Symbol.dispose]());
      subscriber.add(
        source.subscribe({
          next(value) {
            heard.at = clock.monotonic();
            subscriber.next(value);
          },
          error: error => subscriber.error(error),
          complete: () => subscriber.complete(),
        }),
      );
    });
