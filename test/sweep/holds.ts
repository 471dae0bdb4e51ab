import {readFileSync} from 'node:fs';

/** How long an operation blocked the event loop at most, and how long it took. */
export interface Held {
  readonly longestMs: number;
  readonly ms: number;
}

/** The CPU time and the run-queue wait of the main thread so far, in ms. */
export interface ThreadTime {
  readonly worked: number;
  readonly waited: number;
}

/** Measures the main thread of this or another process; this process, if the system has no per-thread times. */
export const threadTime = (pid = process.pid): ThreadTime => {
  try {
    const [worked, waited] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ', 2);
    return {worked: Number(worked) / 1e6, waited: Number(waited) / 1e6};
  } catch {
    const {user, system} = process.cpuUsage();
    return {worked: (user + system) / 1000, waited: 0};
  }
};

/** The longest turn of the event loop: its start and end (`process.hrtime`, µs) and the thread's CPU time in it. */
export interface LongestTurn {
  readonly ms: number;
  readonly from: number;
  readonly to: number;
}

/** Measures turns of the event loop. Time in which the thread did not have a CPU is not counted. */
export class LoopWatch {
  #isOver = false;
  #longest: LongestTurn = {ms: 0, from: 0, to: 0};
  #at = process.hrtime.bigint();
  #used = threadTime().worked;

  /** `later` calls its argument in another turn; by default in each one. */
  start(later: (look: () => void) => unknown = setImmediate): void {
    this.#begin();
    const again = () => {
      if (this.#isOver) return;
      this.#look();
      later(again);
    };
    later(again);
  }

  /** Ends the measurement with the current turn. */
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

/** Runs an operation and measures the event loop. */
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
