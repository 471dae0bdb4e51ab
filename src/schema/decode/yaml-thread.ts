import {confined} from '#src/base/emitters/confined.js';
import {parseJson} from '#src/base/json/json.js';
import {Worker} from 'node:worker_threads';
import {entityTooLarge, tooManyRequests} from '#src/api/status.js';
import type {Clock} from '#src/base/clock.js';
import {labelledBody, parseBody, type ParsedBody} from './document.js';
import {DecodeError} from './error.js';
import {jsonInYaml} from './yaml.js';
import type {YamlResult} from './yaml-worker.js';

/** Texts up to this many bytes are parsed on the event loop: YAML takes some microseconds a byte. */
const longestAtOnce = 8 * 1024;
/** The limits of parsing YAML. */
export interface YamlLimits {
  /** The memory limit of the thread, in MiB. */
  readonly megabytes: number;
  /** The time limit of one text. */
  readonly ms: number;
  /** How many texts may wait for the thread. */
  readonly waiting: number;
}

const usualLimits: YamlLimits = {megabytes: 256, ms: 15_000, waiting: 16};

interface Job {
  readonly text: string;
  readonly signal: AbortSignal | undefined;
  resolve(result: YamlResult): void;
  reject(error: Error): void;
}

const tooLarge = (what: string): Error => entityTooLarge(`reading the YAML takes more than ${what}; send it as JSON`);

/**
 * Parses YAML bodies: short texts, and those that are JSON, synchronously; long ones one after the other in a worker thread that exists while there are any, so
 * that other requests are not delayed.
 */
export class YamlThread {
  readonly #clock: Clock;
  readonly #limits: YamlLimits;
  readonly #waiting: Job[] = [];
  #worker: Worker | undefined;
  #isBusy = false;

  constructor(clock: Clock, limits: YamlLimits = usualLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Throws `DecodeError` for invalid YAML, 413 for a text that takes too much time or memory, 429 while too many texts wait. */
  async parse(bytes: Buffer, signal?: AbortSignal): Promise<ParsedBody> {
    if (bytes.length <= longestAtOnce) return parseBody(bytes, 'yaml');
    const text = bytes.toString('utf8');
    const json = jsonInYaml(text);
    if (json !== undefined) return labelledBody({value: json, problems: []}, text, 'yaml');
    const result = await this.#ask(text, signal);
    if ('refusal' in result) throw new DecodeError(result.refusal);
    return labelledBody({value: parseJson(result.json), problems: result.problems}, text, 'yaml');
  }

  #ask(text: string, signal: AbortSignal | undefined): Promise<YamlResult> {
    if (this.#waiting.length >= this.#limits.waiting)
      throw tooManyRequests('too many long YAML bodies are being read, please try again later', 1);
    return new Promise((resolve, reject) => {
      this.#waiting.push({text, signal, resolve, reject});
      this.#next();
    });
  }

  #next(): void {
    if (this.#isBusy) return;
    const job = this.#waiting.shift();
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
    const worker = (this.#worker ??= confined(new Worker(new URL('./yaml-worker.js', import.meta.url), options)));
    const hold = this.#clock.hold();
    this.#isBusy = true;
    const done = (settle: () => void, isAlive: boolean): void => {
      timer[Symbol.dispose]();
      hold[Symbol.dispose]();
      worker.removeAllListeners();
      if (!isAlive) {
        // Later errors of an abandoned worker are ignored.
        worker.on('error', () => undefined);
        void worker.terminate();
        this.#worker = undefined;
      }
      this.#isBusy = false;
      settle();
      this.#next();
    };
    const timer = this.#clock.schedule(ms, () => done(() => job.reject(tooLarge(`${ms / 1000} s`)), false));
    worker.once('message', (result: YamlResult) => done(() => job.resolve(result), true));
    worker.once('error', (error: Error & {code?: string}) =>
      done(() => job.reject(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooLarge(`${megabytes} MiB`) : error), false),
    );
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- It is a thread, not a window.
    worker.postMessage(job.text);
  }
}
