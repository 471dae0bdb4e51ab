import {readFileSync} from 'node:fs';

/** How long a piece of work held the event loop at most, and how long it took. */
export interface Held {
  readonly longestMs: number;
  readonly ms: number;
}

/** What the main thread has had of processors so far, and how long it waited for one, in ms. */
export interface ThreadTime {
  readonly worked: number;
  readonly waited: number;
}

/** Counts the main thread alone; the whole process where the system does not tell threads apart. */
export const threadTime = (): ThreadTime => {
  try {
    const [worked, waited] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ', 2);
    return {worked: Number(worked) / 1e6, waited: Number(waited) / 1e6};
  } catch {
    const {user, system} = process.cpuUsage();
    return {worked: (user + system) / 1000, waited: 0};
  }
};

/** The longest turn of the event loop: when it began and ended (`process.hrtime`, µs), and how long the thread worked in it. */
export interface LongestTurn {
  readonly ms: number;
  readonly from: number;
  readonly to: number;
}

/** Measures the turns of the event loop. Time in which the thread had no processor does not count. */
export class LoopWatch {
  #isOver = false;
  #longest: LongestTurn = {ms: 0, from: 0, to: 0};
  #at = process.hrtime.bigint();
  #used = threadTime().worked;

  /** `later` calls what it is given in another turn: in each one unless told. */
  start(later: (look: () => void) => unknown = setImmediate): void {
    this.#begin();
    const again = () => {
      if (this.#isOver) return;
      this.#look();
      later(again);
    };
    later(again);
  }

  /** Ends the measurement, with the turn that runs now. */
  stop(): LongestTurn {
    if (!this.#isOver) this.#look();
    this.#isOver = true;
    return this.#longest;
  }

  #begin(): void {
    this.#used = threadTime().worked;
    this.#at = process.hrtime.bigint();
  }

  #look(): void {
    const now = process.hrtime.bigint();
    const ms = Math.min(Number(now - this.#at) / 1e6, threadTime().worked - this.#used);
    if (ms > this.#longest.ms) this.#longest = {ms, from: Number(this.#at / 1000n), to: Number(now / 1000n)};
    this.#begin();
  }
}

/** Does something and watches the event loop meanwhile. */
export const watchingTheLoop = async <T>(act: () => Promise<T>): Promise<Held & {readonly answer: T}> => {
  const watch = new LoopWatch();
  const begun = performance.now();
  watch.start();
  try {
    const answer = await act();
    await new Promise(resolve => setImmediate(resolve));
    return {answer, longestMs: watch.stop().ms, ms: performance.now() - begun};
  } finally {
    watch.stop();
  }
};
