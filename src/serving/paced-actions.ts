import {endWith} from '#src/base/emitters/confined.js';
import {yieldToEventLoop} from '#src/base/turn.js';

/** An action for the current or a later turn of the event loop. */
export interface QueuedAction {
  begin(): void;
  /** Whether the action has become obsolete; it is then skipped. */
  isGone(): boolean;
  /** What an error of the action ends. */
  readonly of: object;
}

/**
 * Runs a few actions in each turn of the event loop, in order: however many arrive at once, other events are handled in
 * between.
 */
export class PacedActions {
  readonly #maxPerTurn: number;
  readonly #waiting: QueuedAction[] = [];
  #begun = 0;
  #isTurning = false;

  constructor(maxPerTurn: number) {
    this.#maxPerTurn = maxPerTurn;
  }

  /** Returns whether it has begun at once. */
  add(beginning: QueuedAction): boolean {
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
      await yieldToEventLoop();
      this.#begun = 0;
      while (this.#begun < this.#maxPerTurn && this.#waiting.length > 0) {
        const beginning = this.#waiting.shift()!;
        if (beginning.isGone()) continue;
        this.#begun++;
        try {
          beginning.begin();
        } catch (error) {
          endWith(beginning.of, error);
        }
      }
    } while (this.#waiting.length > 0);
    this.#isTurning = false;
  }
}
