import type {Clock} from './clock.js';

// How long work shares the one thread: it runs in pieces, and waits between them for a turn of the event loop of its
// own. Lists, large encodings, relists and compactions all wait here, so that a request waits for one piece of each
// user at most.

/** Resolves in the next turn of the event loop. */
export const yieldToEventLoop = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

/** A task that waits for a turn. */
interface Waiter {
  /** Of a flow, the lowest is next. */
  readonly order: number;
  resume(): void;
}

/** The tasks that wait for a turn, by flow. The flow that is next comes first. */
const waiting = new Map<string, Waiter[]>();

let lastOrder = 0;

/**
 * Resolves in a turn of the event loop of its own: one waiter is resumed in each turn. Long work awaits it between
 * pieces of a few milliseconds, so that other requests wait for one piece only, however many tasks run at the same
 * time. Flows take turns: the tasks of one user, however many, delay a task of another by one piece each time. The
 * server's own work has no flow and counts as one.
 */
export const yieldInTurn = (flow = '', order = ++lastOrder): Promise<void> =>
  new Promise(resolve => {
    const waiter = {order, resume: resolve};
    const tasks = waiting.get(flow);
    if (tasks) return void tasks.push(waiter);
    waiting.set(flow, [waiter]);
    if (waiting.size === 1) setImmediate(resumeNext);
  });

const takeOldest = (tasks: Waiter[]): Waiter => {
  let oldest = 0;
  for (let at = 1; at < tasks.length; at++) if (tasks[at]!.order < tasks[oldest]!.order) oldest = at;
  return tasks.splice(oldest, 1)[0]!;
};

const resumeNext = (): void => {
  const [flow, tasks] = waiting.entries().next().value!;
  const next = takeOldest(tasks);
  waiting.delete(flow);
  if (tasks.length > 0) waiting.set(flow, tasks);
  if (waiting.size > 0) setImmediate(resumeNext);
  next.resume();
};

/**
 * How long work may last in one turn of the event loop: a request waits for two or three such turns before it is
 * answered.
 */
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

  isExhausted(ms: number): boolean {
    if (this.#begunAt === undefined) this.begin();
    return this.#clock.monotonic() - this.#begunAt! >= ms;
  }
}

/** All work with the same clock shares its turns. */
const budgets = new WeakMap<Monotonic, TurnBudget>();

const budgetOf = (clock: Monotonic): TurnBudget => {
  let known = budgets.get(clock);
  if (!known) budgets.set(clock, (known = new TurnBudget(clock)));
  return known;
};

/**
 * Splits long work into pieces and yields to the event loop between them. All workers that share an instance are
 * resumed together.
 */
export class Yielder {
  readonly #budget: TurnBudget;
  #next: Promise<void> | undefined;

  constructor(clock: Monotonic) {
    this.#budget = budgetOf(clock);
  }

  /**
   * Returns a promise to await before going on, once work with this clock has lasted 5 ms in this turn of the event
   * loop; undefined before.
   */
  pause(): Promise<void> | undefined {
    if (this.#next || !this.#budget.isExhausted(sliceMs)) return this.#next;
    this.#next = yieldInTurn().then(() => {
      this.#next = undefined;
      this.#budget.begin();
    });
    return this.#next;
  }
}

/**
 * How long the requests that are executed may work in one turn of the event loop before the next piece of one of them
 * waits.
 */
const requestSliceMs = 1;

/**
 * The turns of one request among those of all others: each waits for a turn of its own, in which flows alternate. Of
 * one flow the request that began first goes on first: if all went on together they would end together, and hold their
 * seats until then.
 */
export class FairYielder {
  readonly #budget: TurnBudget;
  readonly #order = ++lastOrder;

  constructor(clock: Monotonic) {
    this.#budget = budgetOf(clock);
  }

  /**
   * Returns a promise to await before going on, once work with this clock has lasted 1 ms in this turn of the event
   * loop; undefined before.
   */
  pause(flow: string): Promise<void> | undefined {
    return this.#budget.isExhausted(requestSliceMs) ? this.next(flow) : undefined;
  }

  /** Resolves in a turn of its own. */
  next(flow: string): Promise<void> {
    return yieldInTurn(flow, this.#order).then(() => this.#budget.begin());
  }
}
