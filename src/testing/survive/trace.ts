import type {Clock} from '#src/base/clock.js';

/** The maximum number of lines of a trace: later ones are only counted. */
const mostLines = 2_000;

/** The trace of a run as readable lines. */
export class Trace {
  readonly #clock: Clock;
  readonly #start: number;
  readonly #lines: string[] = [];
  #left = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#start = clock.monotonic();
  }

  add(actor: string, what: string): void {
    if (this.#lines.length >= mostLines) return void this.#left++;
    const seconds = ((this.#clock.monotonic() - this.#start) / 1000).toFixed(3);
    this.#lines.push(`${seconds.padStart(9)} s  ${actor.padEnd(10)} ${what}`);
  }

  get lines(): readonly string[] {
    return this.#left > 0 ? [...this.#lines, `... and ${this.#left} more`] : this.#lines;
  }
}
