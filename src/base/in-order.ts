/** Does one thing after the other: each at once, unless an earlier one is waited for. */
export class InOrder {
  readonly #failed: (error: unknown) => void;
  readonly #behind: (() => void | Promise<void>)[] = [];
  #isWaiting = false;

  /** `failed` is called with errors and rejections; the next task runs all the same. */
  constructor(failed: (error: unknown) => void) {
    this.#failed = failed;
  }

  /** Whether what is added now has to wait. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /** Resolves when what has been added until now is done; undefined if it is. */
  passed(): Promise<void> | undefined {
    return this.#isWaiting ? new Promise(resolve => this.#behind.push(resolve)) : undefined;
  }

  add(act: () => void | Promise<void>): void {
    if (this.#isWaiting) this.#behind.push(act);
    else this.#run(act);
  }

  #run(act: () => void | Promise<void>): void {
    try {
      const outcome = act();
      if (!(outcome instanceof Promise)) return;
      this.#isWaiting = true;
      void outcome.catch(this.#failed).then(() => this.#resume());
    } catch (error) {
      this.#failed(error);
    }
  }

  #resume(): void {
    this.#isWaiting = false;
    while (!this.#isWaiting) {
      const next = this.#behind.shift();
      if (!next) return;
      this.#run(next);
    }
  }
}
