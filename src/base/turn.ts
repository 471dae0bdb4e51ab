import type {Clock} from './clock.js';

/** Resolves after everything else that waits for the event loop has had its turn: what works through much at once does so between pieces. */
export const nextTurn = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

const waiting: (() => void)[] = [];

/**
 * Resolves in a turn of the event loop in which nobody else who waits here goes on. Who works through much does so between pieces of a few milliseconds:
 * however many do it at the same time, what else comes in waits for one piece.
 */
export const ownTurn = (): Promise<void> =>
  new Promise(resolve => {
    if (waiting.push(resolve) === 1) setImmediate(resumeNext);
  });

const resumeNext = (): void => {
  waiting.shift()!();
  if (waiting.length > 0) setImmediate(resumeNext);
};

/** How long work goes on in one turn of the event loop. */
const sliceMs = 10;

type Monotonic = Pick<Clock, 'monotonic'>;

/** The time for which work has gone on in the present turn of the event loop. */
class TurnBudget {
  readonly #clock: Monotonic;
  #begunAt: number | undefined;
  #turn = 0;

  constructor(clock: Monotonic) {
    this.#clock = clock;
  }

  begin(): void {
    this.#begunAt = this.#clock.monotonic();
    const turn = ++this.#turn;
    setImmediate(() => {
      if (turn === this.#turn) this.#begunAt = undefined;
    });
  }

  get isExhausted(): boolean {
    if (this.#begunAt === undefined) this.begin();
    return this.#clock.monotonic() - this.#begunAt! >= sliceMs;
  }
}

/** All work by one clock shares its turns. */
const budgets = new WeakMap<Monotonic, TurnBudget>();

const budgetOf = (clock: Monotonic): TurnBudget => {
  let known = budgets.get(clock);
  if (!known) budgets.set(clock, (known = new TurnBudget(clock)));
  return known;
};

/** Cuts long work into pieces, with a turn for everybody else between them. All hands that share one go on together. */
export class Pieces {
  readonly #budget: TurnBudget;
  #next: Promise<void> | undefined;

  constructor(clock: Monotonic) {
    this.#budget = budgetOf(clock);
  }

  /** Returns what is to be waited for before the work goes on, once work by this clock has lasted 10 ms in this turn of the event loop; nothing before. */
  pause(): Promise<void> | undefined {
    if (this.#next || !this.#budget.isExhausted) return this.#next;
    this.#next = ownTurn().then(() => {
      this.#next = undefined;
      this.#budget.begin();
    });
    return this.#next;
  }
}
