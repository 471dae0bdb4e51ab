/** Waits for a set of names to complete. */
export interface Countdown {
  /** Resolves when all are complete; rejects if it is called off. */
  readonly done: Promise<void>;
  complete(name: string): void;
  fail(error: unknown): void;
}

/** Returns a countdown of these names. */
export const countdown = (names: Iterable<string>): Countdown => {
  const left = new Set(names);
  let resolve = () => {};
  let reject: (error: unknown) => void = () => {};
  const done = new Promise<void>((all, failed) => {
    resolve = all;
    reject = failed;
  });
  if (left.size === 0) resolve();
  return {
    done,
    complete(name) {
      if (left.delete(name) && left.size === 0) resolve();
    },
    fail: reject,
  };
};
