import type {Clock} from './clock.js';

// How long work shares the one thread: it runs in pieces, and waits between them for a turn of the event loop of its
// own. Lists, large encodings, relists and compactions all wait here, so that a request waits for one piece of each
// user at most.

/** Resolves in the next turn of the event loop. */
export const yieldToEventLoop = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

/** A task that waits for a turn. */
interface Waiter {
  /** Of two tasks, the one with the lower number began first. */
  readonly order: number;
  /** How many turns of its own it had before. */
  readonly turns: number;
  resume(): void;
}

/** A task that had fewer turns of its own may be soon done. */
const shortTurns = 4;

/** The tasks of one flow that wait. */
class Flow {
  readonly #tasks: Waiter[] = [];
  #isTurnOfOldest = false;

  get isEmpty(): boolean {
    return this.#tasks.length === 0;
  }

  add(task: Waiter): void {
    this.#tasks.push(task);
  }

  /**
   * Takes the task that began first; every second time the first of those that had few turns, so that a short one does
   * not wait for all the long ones before it, nor a long one for ever.
   */
  take(): Waiter {
    const mayBeLong = this.#isTurnOfOldest;
    this.#isTurnOfOldest = !mayBeLong;
    let oldest = 0;
    let first = -1;
    for (const [at, {order, turns}] of this.#tasks.entries()) {
      if (order < this.#tasks[oldest]!.order) oldest = at;
      if (turns < shortTurns && (first < 0 || order < this.#tasks[first]!.order)) first = at;
    }
    return this.#tasks.splice(mayBeLong || first < 0 ? oldest : first, 1)[0]!;
  }
}

/** The flows with tasks that wait for a turn. The one that is next comes first. */
const waiting = new Map<string, Flow>();

let lastOrder = 0;

/**
 * Resolves in a turn of the event loop of its own: one waiter is resumed in each turn. Long work awaits it between
 * pieces of a few milliseconds, so that other requests wait for one piece only, however many tasks run at the same
 * time. Flows take turns: the tasks of one user, however many, delay a task of another by one piece each time. The
 * server's own work has no flow and counts as one.
 */
export const yieldInTurn = (flow = '', order = ++lastOrder, turns = 0): Promise<void> =>
  new Promise(resolve => {
    const task = {order, turns, resume: resolve};
    const known = waiting.get(flow);
    if (known) return void known.add(task);
    const own = new Flow();
    own.add(task);
    waiting.set(flow, own);
    if (waiting.size === 1) setImmediate(resumeNext);
  });

const resumeNext = (): void => {
  const [name, flow] = waiting.entries().next().value!;
  const next = flow.take();
  waiting.delete(name);
  if (!flow.isEmpty) waiting.set(name, flow);
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
 * the long requests of one flow the one that began first goes on first: if all went on together they would end
 * together, and hold their seats until then.
 */
export class FairYielder {
  readonly #budget: TurnBudget;
  readonly #order = ++lastOrder;
  #turns = 0;

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
    return yieldInTurn(flow, this.#order, this.#turns++).then(() => this.#budget.begin());
  }
}
