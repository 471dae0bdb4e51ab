/** Asks one question for all who come while it is being asked: whoever comes is answered by a question that began after that. */
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
