import type {Clock} from '#src/base/clock.js';

/** What is to happen to a pod, and since when that is known. */
interface Timer {
  readonly createdAt: number;
  /** Undefined once it is under way. */
  timer: Disposable | undefined;
}

/** One appointment for each key. One that was kept well stays noted until it is cancelled, so that it is not made again. */
export interface Timers {
  /** Makes an appointment unless there is one, or was. */
  add(key: string, times: {readonly createdAt: number; readonly fireAt: number}, act: () => Promise<void>): void;
  /** When the open appointment was made. */
  createdAt(key: string): number | undefined;
  /** Forgets a key; whether its appointment was still open. */
  cancel(key: string): boolean;
  stop(): void;
}

export const timers = (clock: Clock): Timers => {
  const all = new Map<string, Timer | 'done'>();

  const fire = (key: string, timer: Timer, act: () => Promise<void>): void => {
    timer.timer = undefined;
    const set = (next: 'done' | undefined) => {
      if (all.get(key) !== timer) return; // Cancelled meanwhile.
      if (next) all.set(key, next);
      else all.delete(key);
    };
    void act().then(() => set('done'), () => set(undefined));
  };

  const open = (key: string): Timer | undefined => {
    const found = all.get(key);
    return found === 'done' ? undefined : found;
  };

  return {
    add(key, {createdAt, fireAt}, act) {
      if (all.has(key)) return;
      const timer: Timer = {createdAt, timer: undefined};
      all.set(key, timer);
      const afterMs = fireAt - clock.now();
      if (afterMs <= 0) fire(key, timer, act);
      else timer.timer = clock.schedule(afterMs, () => fire(key, timer, act));
    },
    createdAt: key => open(key)?.createdAt,
    cancel(key) {
      const timer = open(key);
      timer?.timer?.[Symbol.dispose]();
      all.delete(key);
      return timer !== undefined;
    },
    stop() {
      for (const key of all.keys()) open(key)?.timer?.[Symbol.dispose]();
      all.clear();
    },
  };
};
