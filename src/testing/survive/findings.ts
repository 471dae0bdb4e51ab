/** What is wrong in a run by itself, whatever its end is. */
export class Findings {
  readonly #all = new Set<string>();
  readonly #ending = new AbortController();

  add(problem: string): void {
    this.#all.add(problem);
  }

  /** Adds a problem after which the run need not go on. */
  end(problem: string): void {
    this.add(problem);
    this.#ending.abort(new Error(problem));
  }

  get all(): readonly string[] {
    return [...this.#all];
  }

  /** Aborts when the run need not go on. */
  get ended(): AbortSignal {
    return this.#ending.signal;
  }
}
