/** Waits for a set of names to complete. */
export interface Countdown {
  /** Resolves when all are complete; rejects if it is called off. */
  readonly done: Promise<void>;
  complete(name: string): void;
  fail(error: unknown): void;
}

/** Countdowns of names that begin while the program runs. */
export class Countdowns {
  readonly #open = new Set<Countdown>();

  /** Resolves when all names are complete. */
  async expect(names: readonly string[]): Promise<void> {
    const own = countdown(names);
    this.#open.add(own);
    try {
      await own.done;
    } finally {
      this.#open.delete(own);
    }
  }

  complete(name: string): void {
    for (const each of this.#open) each.complete(name);
  }

  fail(error: unknown): void {
    for (const each of this.#open) each.fail(error);
  }
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
