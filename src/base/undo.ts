/**
 * Cleanup steps, run in reverse order when disposed of. `move` transfers them to the caller, so that only an early exit
 * from a scope runs them.
 */
export class Undo implements AsyncDisposable {
  #steps: (() => unknown)[] = [];

  defer(step: () => unknown): void {
    this.#steps.push(step);
  }

  move(): Undo {
    const moved = new Undo();
    moved.#steps = this.#steps;
    this.#steps = [];
    return moved;
  }

  /** Runs every step, each once, even when one fails; then throws the first failure. */
  async [Symbol.asyncDispose](): Promise<void> {
    const failures: unknown[] = [];
    for (let step = this.#steps.pop(); step; step = this.#steps.pop()) {
      try {
        await step();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
