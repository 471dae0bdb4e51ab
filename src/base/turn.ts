import type {Clock} from './clock.js';

/** Resolves in the next turn of the event loop. */
export const nextTurn = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

const waiting: (() => void)[] = [];

/**
 * Resolves in a turn of the event loop of its own: one waiter is resumed in each turn. Long work awaits it between pieces of a few milliseconds, so that
 * other requests wait for one piece only, however many tasks run at the same time.
 */
export const ownTurn = (): Promise<void> =>
  new Promise(resolve => {
    if (waiting.push(resolve) === 1) setImmediate(resumeNext);
  });

const resumeNext = (): void => {
  waiting.shift()!();
  if (waiting.length > 0) setImmediate(resumeNext);
};

/** How long work may last in one turn of the event loop: a request waits for two or three such turns before it is answered. */
const sliceMs = 5;

type Monotonic = Pick<Clock, 'monotonic'>;

/** The time spent on work in the current turn of the event loop. */
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

/** All work with the same clock shares its turns. */
const budgets = new WeakMap<Monotonic, TurnBudget>();

const budgetOf = (clock: Monotonic): TurnBudget => {
  let known = budgets.get(clock);
  if (!known) budgets.set(clock, (known = new TurnBudget(clock)));
  return known;
};

/** Splits long work into pieces and yields to the event loop between them. All workers that share an instance are resumed together. */
export class Pieces {
  readonly #budget: TurnBudget;
  #next: Promise<void> | undefined;

  constructor(clock: Monotonic) {
    this.#budget = budgetOf(clock);
  }

  /** Returns a promise to await before going on, once work with this clock has lasted 5 ms in this turn of the event loop; undefined before. */
  pause(): Promise<void> | undefined {
    if (this.#next || !this.#budget.isExhausted) return this.#next;
    this.#next = ownTurn().then(() => {
      this.#next = undefined;
      this.#budget.begin();
    });
    return this.#next;
  }
}
