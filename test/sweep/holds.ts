import {readFileSync} from 'node:fs';

/** How long a piece of work held the event loop at most, and how long it took. */
export interface Held {
  readonly longestMs: number;
  readonly ms: number;
}

/** CPU time of the main thread so far, in ms; of the whole process where the system does not tell threads apart. */
const mainThreadMs = (): number => {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ', 1)[0]) / 1e6;
  } catch {
    const {user, system} = process.cpuUsage();
    return (user + system) / 1000;
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
  #turn: NodeJS.Immediate | undefined;
  #longest: LongestTurn = {ms: 0, from: 0, to: 0};
  #at = process.hrtime.bigint();
  #used = mainThreadMs();

  start(): void {
    this.#begin();
    const again = () => {
      this.#look();
      this.#turn = setImmediate(again);
    };
    this.#turn = setImmediate(again);
  }

  /** Ends the measurement, with the turn that runs now. */
  stop(): LongestTurn {
    clearImmediate(this.#turn);
    this.#look();
    return this.#longest;
  }

  #begin(): void {
    this.#used = mainThreadMs();
    this.#at = process.hrtime.bigint();
  }

  #look(): void {
    const now = process.hrtime.bigint();
    const ms = Math.min(Number(now - this.#at) / 1e6, mainThreadMs() - this.#used);
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
