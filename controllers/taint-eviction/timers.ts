import {withClockHeld, type Clock} from '#src/base/clock.js';
import {Yielder} from '#src/base/turn.js';

/** A scheduled eviction: the pod's uid, and when it is due, in ms since the epoch. */
export interface ScheduledEviction {
  readonly uid: string;
  readonly fireAt: number;
}

interface Entry extends ScheduledEviction {
  /** Undefined once the eviction has started. */
  timer: Disposable | undefined;
}

/** One eviction for each key. A finished one is kept until it is cancelled, so that it is not repeated. */
export interface EvictionTimers {
  /** Schedules an eviction unless one is pending, in progress or done for the key. */
  add(key: string, eviction: ScheduledEviction, act: () => Promise<void>): void;
  /** Whether an eviction of this pod is pending. */
  isPending(key: string, uid: string): boolean;
  /** Removes a key. Returns whether its eviction was pending. */
  cancel(key: string): boolean;
  /** Removes a key of another pod. Returns whether its eviction was pending. */
  cancelOthers(key: string, uid: string): boolean;
  stop(): void;
}

export const timers = (clock: Clock): EvictionTimers => {
  const all = new Map<string, Entry>();
  const pieces = new Yielder(clock);

  /** Many may be due at once. One that is cancelled while it waits does not start. */
  const begin = async (key: string, entry: Entry, act: () => Promise<void>): Promise<void> => {
    for (let pause = pieces.pause(); pause; pause = pieces.pause()) {
      const turn = pause;
      await withClockHeld(clock, () => turn);
    }
    if (all.get(key) !== entry) return;
    entry.timer = undefined;
    await act();
  };

  const fire = (key: string, entry: Entry, act: () => Promise<void>): void => {
    void begin(key, entry, act).catch(() => {
      // Removed after a failure, unless it was cancelled or replaced: the next event may schedule it again.
      if (all.get(key) === entry) all.delete(key);
    });
  };

  const cancel = (key: string): boolean => {
    const timer = all.get(key)?.timer;
    timer?.[Symbol.dispose]();
    all.delete(key);
    return timer !== undefined;
  };

  return {
    cancel,
    cancelOthers: (key, uid) => all.has(key) && all.get(key)?.uid !== uid && cancel(key),
    isPending(key, uid) {
      const entry = all.get(key);
      return entry?.uid === uid && entry.timer !== undefined;
    },
    add(key, eviction, act) {
      if (all.has(key)) return;
      const entry: Entry = {...eviction, timer: undefined};
      all.set(key, entry);
      const afterMs = entry.fireAt - clock.now();
      if (afterMs <= 0) fire(key, entry, act);
      else entry.timer = clock.schedule(afterMs, () => fire(key, entry, act));
    },
    stop() {
      for (const {timer} of all.values()) timer?.[Symbol.dispose]();
      all.clear();
    },
  };
};
