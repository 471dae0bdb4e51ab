import {Worker} from 'node:worker_threads';
import {entityTooLarge, tooManyRequests} from '#src/api/status.js';
import type {Clock} from '#src/base/clock.js';
import {confineErrors} from '#src/base/emitters/confined.js';
import {FairQueue} from '#src/base/collections/fair-queue.js';
import type {YamlResult} from './yaml-worker.js';

/** The limits of parsing YAML. */
export interface YamlLimits {
  /** The memory limit of the thread, in MiB. */
  readonly megabytes: number;
  /** The time limit of one text. */
  readonly ms: number;
  /** How many texts may wait for the thread. */
  readonly waiting: number;
}

interface Job {
  readonly text: string;
  readonly signal: AbortSignal | undefined;
  resolve(result: YamlResult): void;
  reject(error: Error): void;
}

const tooMany = (): Error => tooManyRequests('too many long YAML bodies are being read, please try again later', 1);

const tooLarge = (what: string): Error => entityTooLarge(`reading the YAML takes more than ${what}; send it as JSON`);

/**
 * Reads YAML texts one after the other in a worker thread that exists while there are any. Flows share it by the length
 * of their texts.
 */
export class YamlThread {
  readonly #clock: Clock;
  readonly #limits: YamlLimits;
  readonly #waiting: FairQueue<Job>;
  #worker: Worker | undefined;
  #isBusy = false;

  constructor(clock: Clock, limits: YamlLimits) {
    this.#clock = clock;
    this.#limits = limits;
    this.#waiting = new FairQueue(limits.waiting);
  }

  /**
   * Rejects with 413 for a text that takes too much time or memory, with 429 while too many texts wait, most of them of
   * this flow.
   */
  read(text: string, flow: string, signal: AbortSignal | undefined): Promise<YamlResult> {
    return new Promise((resolve, reject) => {
      this.#waiting.add(flow, text.length, {text, signal, resolve, reject})?.reject(tooMany());
      this.#next();
    });
  }

  #next(): void {
    if (this.#isBusy) return;
    const job = this.#waiting.take();
    if (!job) {
      void this.#worker?.terminate();
      this.#worker = undefined;
    } else if (job.signal?.aborted) {
      job.reject(job.signal.reason as Error);
      this.#next();
    } else this.#run(job);
  }

  #run(job: Job): void {
    const {megabytes, ms} = this.#limits;
    const options = {resourceLimits: {maxOldGenerationSizeMb: megabytes}};
    const worker = (this.#worker ??= confineErrors(new Worker(new URL('./yaml-worker.js', import.meta.url), options)));
    const hold = this.#clock.hold();
    this.#isBusy = true;
    const done = (): void => {
      timer[Symbol.dispose]();
      hold[Symbol.dispose]();
      // Not all listeners: a worker without those that Node itself has answers no more.
      worker.off('message', answered).off('error', failed);
      this.#isBusy = false;
      this.#next();
    };
    const answered = (result: YamlResult): void => {
      job.resolve(result);
      done();
    };
    const failed = (error: Error & {code?: string}): void => {
      job.reject(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooLarge(`${megabytes} MiB`) : error);
      // Later errors of an abandoned worker are ignored.
      worker.on('error', () => undefined);
      void worker.terminate();
      this.#worker = undefined;
      done();
    };
    const timer = this.#clock.schedule(ms, () => failed(tooLarge(`${ms / 1000} s`)));
    worker.once('message', answered).once('error', failed);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- It is a thread, not a window.
    worker.postMessage(job.text);
  }
}
