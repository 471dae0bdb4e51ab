import {Worker} from 'node:worker_threads';
import type {ApiRequest, ApiResponse} from '#src/api/request.js';
import {entityTooLarge, serviceUnavailable, StatusError, timeout, tooManyRequests} from '#src/api/status.js';
import type {UserInfo} from '#src/api/user.js';
import type {LargeRequests, MovedRequest} from '#src/apiserver/request/large.js';
import type {Clock} from '#src/base/clock.js';
import {noLog, type Log, type LogFields} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import {bufferOf, type FromStore} from '#src/storage/port/messages.js';
import {StoreHost} from '#src/storage/port/host.js';
import type {Store} from '#src/storage/store.js';
import {account} from './metrics.js';
import type {FromThread, PlainResponse, ThreadStart, ToThread} from './messages.js';

/** What large requests may take together. */
export interface ThreadLimits {
  /** How much memory the thread may use, in MiB. */
  readonly megabytes: number;
  /** How many requests it works on at the same time; one waits while it asks others. */
  readonly atOnce: number;
  /** How many may wait, and how many bytes their bodies may have together. */
  readonly waiting: number;
  readonly waitingBytes: number;
  /** How long one request may take. The thread answers 504 by itself at the time of a request: it is ended only when it no longer can. */
  readonly ms: number;
  /** For how long the thread stays when it has nothing to do. */
  readonly idleMs: number;
  /** How many bytes of changes the thread may be behind in one watch of the store. */
  readonly watchBytes: number;
}

const usualLimits: ThreadLimits = {megabytes: 768, atOnce: 4, waiting: 64, waitingBytes: 64 * 1024 * 1024, ms: 65_000, idleMs: 60_000, watchBytes: 32 * 1024 * 1024};

export interface RequestThreadParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Where figures of the thread go that nobody counts in this one. */
  readonly meter: Meter;
  start(): ThreadStart;
  readonly limits?: Partial<ThreadLimits>;
}

interface Job {
  readonly request: MovedRequest;
  readonly body: Buffer | undefined;
  readonly user: UserInfo;
  resolve(response: ApiResponse | undefined): void;
  reject(error: Error): void;
  /** Called when its caller goes away before it is sent. */
  readonly left: () => void;
}

/** A request that the thread has; disposing of it ends the wait for its time and its caller. */
interface Sent extends Disposable {
  readonly job: Job;
}

/** A thread that was started, and what it works on. */
interface Running {
  readonly worker: Worker;
  readonly store: StoreHost;
  readonly jobs: Map<number, Sent>;
  /** `stale`: a watch of the store has ended, and what the thread follows by it (roles, nodes, definitions) is no longer told to it. It ends what it works on and gets no more. */
  state: 'starting' | 'ready' | 'stale';
}

/**
 * Answers large requests in a thread that is started with the first of them and ends when there were none for a while. Each has a bound in time and all of them one in memory: beyond it the
 * thread is ended and started anew with the next request, as it is when it falls behind the store. Where no thread can be started, requests are left to the caller.
 * A request is sent to one thread only and never again: what it has written by then stays written.
 */
export class RequestThread implements LargeRequests {
  readonly #parts: RequestThreadParts;
  readonly #limits: ThreadLimits;
  readonly #waiting: Job[] = [];
  #waitingBytes = 0;
  #running: Running | undefined;
  #idle: Disposable | undefined;
  #lastId = 0;
  #cannotStart = false;
  #isClosed = false;

  constructor(parts: RequestThreadParts) {
    this.#parts = parts;
    this.#limits = {...usualLimits, ...parts.limits};
  }

  async answer(request: MovedRequest, body: Buffer | undefined, user: UserInfo): Promise<ApiResponse | undefined> {
    if (this.#cannotStart || this.#isClosed) return undefined;
    const {waiting, waitingBytes} = this.#limits;
    if (request.signal.aborted) throw clientGone();
    if (this.#waiting.length >= waiting || this.#waitingBytes > waitingBytes) throw tooManyRequests('too many large requests are waiting, please try again later', 1);
    return new Promise((resolve, reject) => {
      const job: Job = {request, body, user, resolve, reject, left: () => this.#left(job)};
      this.#waiting.push(job);
      this.#waitingBytes += body?.length ?? 0;
      request.signal.addEventListener('abort', job.left, {once: true});
      this.#next();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#end(serviceUnavailable('the server is shutting down', 1));
  }

  /** Makes room for others when the caller of a request that waits goes away. */
  #left(job: Job): void {
    const at = this.#waiting.indexOf(job);
    if (at < 0) return;
    this.#waiting.splice(at, 1);
    this.#waitingBytes -= job.body?.length ?? 0;
    job.reject(clientGone());
  }

  /** Sends what waits to the thread, as far as it takes it, and starts one where there is none. */
  #next(): void {
    const running = (this.#running ??= this.#tryStart());
    if (!running) return;
    if (running.state === 'stale' && running.jobs.size === 0) return void this.#end();
    this.#idle?.[Symbol.dispose]();
    this.#idle = undefined;
    while (running.state === 'ready' && running.jobs.size < this.#limits.atOnce) {
      const job = this.#waiting.shift();
      if (!job) break;
      this.#waitingBytes -= job.body?.length ?? 0;
      this.#send(running, job);
    }
    if (running.jobs.size > 0 || this.#waiting.length > 0) return running.worker.ref();
    running.worker.unref(); // A process does not stay for a thread without work.
    this.#idle = this.#parts.clock.schedule(this.#limits.idleMs, () => void this.#end());
  }

  #send(running: Running, job: Job): void {
    const id = ++this.#lastId;
    const {method, url, headers, remoteAddress, signal} = job.request;
    const timer = this.#parts.clock.schedule(this.#limits.ms, () => this.#late(running, id));
    const onCallerGone = () => toThread(running.worker, {to: 'caller', gone: id});
    signal.removeEventListener('abort', job.left);
    signal.addEventListener('abort', onCallerGone, {once: true});
    running.jobs.set(id, {
      job,
      [Symbol.dispose]() {
        timer[Symbol.dispose]();
        signal.removeEventListener('abort', onCallerGone); // Some signals outlive their requests.
      },
    });
    toThread(running.worker, {to: 'server', id, request: {method, url, headers: withoutImpersonation(headers), user: job.user, remoteAddress, body: job.body && new Uint8Array(job.body)}, verbosity: verbosityOf(this.#parts.log)});
  }

  #tryStart(): Running | undefined {
    try {
      return this.#start();
    } catch (error) {
      this.#unusable(error as Error);
      return undefined;
    }
  }

  #start(): Running {
    const {store, start} = this.#parts;
    const {megabytes, watchBytes} = this.#limits;
    const worker = new Worker(new URL('./request-worker.js', import.meta.url), {workerData: start(), resourceLimits: {maxOldGenerationSizeMb: megabytes}});
    const send = (message: FromStore): void => {
      toThread(worker, {to: 'store', message});
      if (message.kind === 'ended' && message.error) this.#stale(running);
    };
    const running: Running = {worker, store: new StoreHost(store, send, watchBytes), jobs: new Map(), state: 'starting'};
    worker.on('message', (message: FromThread) => this.#receive(running, message));
    worker.once('error', (error: Error & {code?: string}) => this.#failed(running, error));
    worker.once('exit', code => this.#failed(running, new Error(`the thread exited with ${code}`)));
    return running;
  }

  #receive(running: Running, message: FromThread): void {
    switch (message.from) {
      case 'store':
        return running.store.receive(message.message);
      case 'log':
        return this.#logFor(message.fields).v(message.verbosity)[message.level](message.fields, message.message);
      case 'metrics':
        return account(this.#parts.meter, message.metrics);
      case 'start':
        if (message.failure !== undefined) return this.#unusable(new Error(message.failure));
        if (running.state === 'starting') running.state = 'ready';
        return this.#next();
      case 'server':
        return this.#finished(running, message.id, job => job.resolve(responseOf(message.response)));
      case 'failure':
        this.#finished(running, message.id, job => job.reject(new StatusError(message.status)));
    }
  }

  /** The component of a line decides how much is told. */
  #logFor({component}: LogFields): Log {
    const {log} = this.#parts;
    return component === undefined ? log : log.child({component});
  }

  #finished(running: Running, id: number, settle: (job: Job) => void): void {
    const found = running.jobs.get(id);
    if (!found) return;
    running.jobs.delete(id);
    found[Symbol.dispose]();
    settle(found.job);
    if (this.#running === running) this.#next();
  }

  #late(running: Running, id: number): void {
    running.jobs.get(id)?.job.reject(timeout('request did not complete within the allotted timeout'));
    void this.#end(serviceUnavailable('another large request took too long, please try again later', 1));
  }

  #stale(running: Running): void {
    running.state = 'stale';
    if (this.#running === running) this.#next();
  }

  #failed(running: Running, error: Error & {code?: string}): void {
    if (this.#running !== running) return;
    if (running.state === 'starting') return this.#unusable(error); // Another one would not get any further.
    if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') {
      const alone = running.jobs.size === 1;
      return void this.#end(alone ? entityTooLarge(`handling the request takes more than ${this.#limits.megabytes} MiB`) : serviceUnavailable('too many large requests at the same time, please try again later', 1));
    }
    this.#parts.log.error({err: error}, 'the thread for large requests ended by itself');
    void this.#end(serviceUnavailable('the request could not be completed', 1));
  }

  /** Leaves all requests to their callers from now on. */
  #unusable(error: Error): void {
    this.#cannotStart = true;
    this.#parts.log.warn({err: error}, 'large requests are answered beside all others, since no thread could be started for them');
    for (const job of this.#waiting.splice(0)) job.resolve(undefined);
    void this.#end();
  }

  /** Ends the thread. What it works on gets the error; what waits gets a new thread. */
  async #end(error: Error = serviceUnavailable('the request could not be completed', 1)): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    this.#idle?.[Symbol.dispose]();
    this.#idle = undefined;
    if (this.#isClosed) for (const job of this.#waiting.splice(0)) job.reject(error);
    if (!running) return;
    running.store[Symbol.dispose]();
    for (const sent of running.jobs.values()) {
      sent[Symbol.dispose]();
      sent.job.reject(error);
    }
    running.worker.removeAllListeners();
    running.worker.on('error', () => undefined); // Whatever else it has to say does not matter any more.
    if (this.#waiting.length > 0 && !this.#cannotStart) this.#next();
    await running.worker.terminate();
  }
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- It is a thread, not a window.
const toThread = (worker: Worker, message: ToThread): void => worker.postMessage(message);

/** Lines of a higher verbosity there are none. */
const mostVerbose = 10;

/** How much is told at present. */
const verbosityOf = (log: Log): number => {
  let level = 0;
  while (level < mostVerbose && log.v(level + 1) !== noLog) level++;
  return level;
};

const clientGone = () => timeout('the client has gone away');

/** The user is the one that was impersonated already. */
const withoutImpersonation = (headers: ApiRequest['headers']): ApiRequest['headers'] => Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('impersonate-')));

const responseOf = ({status, headers, contentType, body}: PlainResponse): ApiResponse => ({
  status,
  headers,
  body: contentType === undefined ? {kind: 'empty'} : {kind: 'bytes', contentType, bytes: bufferOf(body)},
});
