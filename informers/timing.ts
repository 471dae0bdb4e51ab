import {Observable, type MonoTypeOperatorFunction} from 'rxjs';
import type {Clock} from '#src/base/clock.js';

/** Emits once and completes after `ms` on `clock`. */
export const after = (clock: Clock, ms: number): Observable<void> =>
  new Observable(subscriber => {
    const timer = clock.schedule(ms, () => {
      subscriber.next();
      subscriber.complete();
    });
    return () => timer[Symbol.dispose]();
  });

/** Fails the stream once nothing has come from it for `ms`. */
export const neverSilentFor =
  <T>(clock: Clock, ms: number, failure: () => Error): MonoTypeOperatorFunction<T> =>
  source =>
    new Observable(subscriber => {
      let heardAt = clock.monotonic();
      let timer: Disposable;
      // One timer that looks again when it fires too early: a busy stream sets no timers.
      const watch = (inMs: number) => {
        timer = clock.schedule(inMs, () => {
          const left = heardAt + ms - clock.monotonic();
          if (left > 0) watch(left);
          else subscriber.error(failure());
        });
      };
      watch(ms);
      subscriber.add(() => timer[Symbol.dispose]());
      subscriber.add(
        source.subscribe({
          next(value) {
            heardAt = clock.monotonic();
            subscriber.next(value);
          },
          error: error => subscriber.error(error),
          complete: () => subscriber.complete(),
        }),
      );
    });
