/**
 * Coalesces calls: those made while one is running share the next, so that each result is from a call begun after the
 * caller's request.
 */
export class Barrier<T> {
  readonly #call: () => Promise<T>;
  #running: Promise<T> | undefined;
  #next: Promise<T> | undefined;

  constructor(call: () => Promise<T>) {
    this.#call = call;
  }

  pass(): Promise<T> {
    if (!this.#running) return this.#start();
    const begin = (): Promise<T> => {
      this.#next = undefined;
      return this.#start();
    };
    return (this.#next ??= this.#running.then(begin, begin));
  }

  #start(): Promise<T> {
    const running = this.#call().finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    return (this.#running = running);
  }
}
