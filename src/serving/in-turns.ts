import {nextTurn} from '#src/base/turn.js';

/** Something that begins now or in a later turn of the event loop. */
export interface Beginning {
  begin(): void;
  /** Whether it is too late: what is gone never begins. */
  isGone(): boolean;
}

/** Begins a few things in each turn of the event loop, in the order in which they came: however many arrive at once, what else is ready is served between them. */
export class InTurns {
  readonly #maxPerTurn: number;
  readonly #waiting: Beginning[] = [];
  #begun = 0;
  #isTurning = false;

  constructor(maxPerTurn: number) {
    this.#maxPerTurn = maxPerTurn;
  }

  /** Returns whether it has begun at once. */
  add(beginning: Beginning): boolean {
    const isNow = this.#waiting.length === 0 && this.#begun < this.#maxPerTurn;
    if (isNow) {
      this.#begun++;
      beginning.begin();
    } else this.#waiting.push(beginning);
    if (!this.#isTurning) void this.#turn();
    return isNow;
  }

  async #turn(): Promise<void> {
    this.#isTurning = true;
    do {
      await nextTurn();
      this.#begun = 0;
      while (this.#begun < this.#maxPerTurn && this.#waiting.length > 0) {
        const beginning = this.#waiting.shift()!;
        if (beginning.isGone()) continue;
        this.#begun++;
        beginning.begin();
      }
    } while (this.#waiting.length > 0);
    this.#isTurning = false;
  }
}
