import {Worker} from 'node:worker_threads';
import type {ApiRequest, ApiResponse} from '#src/api/request.js';
import {entityTooLarge, serviceUnavailable, StatusError, timeout, tooManyRequests} from '#src/api/status.js';
import type {UserInfo} from '#src/api/user.js';
import {requestTimeout} from '#src/apiserver/request/timeout.js';
import type {LargeRequests, MovedRequest} from '#src/apiserver/request/large.js';
import type {LargeRequestParts} from '#src/plane/api-server/parts.js';
import type {FlightRecorder} from '#src/observe/flight-recorder.js';
import type {Clock} from '#src/base/clock.js';
import {confineErrors} from '#src/base/emitters/confined.js';
import {noLog, type Log, type LogFields} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import {bufferOf, type FromStore} from '#src/storage/port/messages.js';
import {StoreHost} from '#src/storage/port/host.js';
import type {Store} from '#src/storage/store.js';
import {recordSamples} from './metrics.js';
import type {FromThread, PlainResponse, ThreadStart, ToThread} from './messages.js';

/** The limits of all large requests together. */
export interface ThreadLimits {
  /** The memory limit of the thread, in MiB. */
  readonly megabytes: number;
  /** The number of concurrent requests, including those that wait for others. */
  readonly concurrency: number;
  /** The number of queued requests, and the bytes of their bodies together. */
  readonly waiting: number;
  readonly waitingBytes: number;
  /**
   * The time limit of one request. The thread itself responds with 504 at the request's deadline: it is ended only when
   * it no longer can.
   */
  readonly ms: number;
  /** How long the thread stays without requests. */
  readonly idleMs: number;
  /** How many bytes of changes the thread may be behind in one watch of the store. */
  readonly watchBytes: number;
}

const defaultLimits: ThreadLimits = {
  megabytes: 768,
  concurrency: 4,
  waiting: 64,
  waitingBytes: 64 * 1024 * 1024,
  ms: 65_000,
  idleMs: 60_000,
  watchBytes: 32 * 1024 * 1024,
};

export interface RequestThreadParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Records the thread's metrics that this thread does not record itself. */
  readonly meter: Meter;
  /** Takes what the thread reports, if anything is recorded. */
  readonly recorder?: FlightRecorder | undefined;
  start(): ThreadStart;
  readonly limits?: Partial<ThreadLimits>;
}

interface Job {
  readonly request: MovedRequest;
  readonly body: Buffer | undefined;
  readonly user: UserInfo;
  resolve(response: ApiResponse | undefined): void;
  reject(error: Error): void;
  /** Called when the client disconnects before the request is sent. */
  readonly left: () => void;
}

/** A request that was sent to the thread; disposing of it ends its timer and its abort listener. */
interface Sent extends Disposable {
  readonly job: Job;
}

/** A running thread and its requests. */
interface Running {
  readonly worker: Worker;
  readonly store: StoreHost;
  readonly jobs: Map<number, Sent>;
  /**
   * `stale`: a watch of the store has ended, so the thread's roles, nodes and definitions are outdated. It finishes its
   * requests and gets no more.
   */
  state: 'starting' | 'ready' | 'stale';
}

/**
 * Handles large requests in a thread that is started with the first of them and ends after a while without any. Each
 * has a time limit, and all of them share a memory limit: beyond it the thread is ended and started anew with the next
 * request, as it is when it falls behind the store. If no thread can be started, requests are left to the caller. A
 * request is sent to one thread only and never again: what it has written by then stays written.
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
    this.#limits = {...defaultLimits, ...parts.limits};
  }

  async answer(request: MovedRequest, body: Buffer | undefined, user: UserInfo): Promise<ApiResponse | undefined> {
    if (this.#cannotStart || this.#isClosed) return undefined;
    const {waiting, waitingBytes} = this.#limits;
    if (request.signal.aborted) throw clientGone();
    if (this.#waiting.length >= waiting || this.#waitingBytes > waitingBytes)
      throw tooManyRequests('too many large requests are waiting, please try again later', 1);
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

  /** Removes a queued request whose client has disconnected. */
  #left(job: Job): void {
    const at = this.#waiting.indexOf(job);
    if (at < 0) return;
    this.#waiting.splice(at, 1);
    this.#waitingBytes -= job.body?.length ?? 0;
    job.reject(clientGone());
  }

  /** Sends queued requests to the thread, up to its limit, and starts one if there is none. */
  #next(): void {
    const running = (this.#running ??= this.#tryStart());
    if (!running) return;
    if (running.state === 'stale' && running.jobs.size === 0) return void this.#end();
    this.#idle?.[Symbol.dispose]();
    this.#idle = undefined;
    while (running.state === 'ready' && running.jobs.size < this.#limits.concurrency) {
      const job = this.#waiting.shift();
      if (!job) break;
      this.#waitingBytes -= job.body?.length ?? 0;
      this.#send(running, job);
    }
    if (running.jobs.size > 0 || this.#waiting.length > 0) return running.worker.ref();
    running.worker.unref(); // The thread does not keep the process alive without work.
    this.#idle = this.#parts.clock.schedule(this.#limits.idleMs, () => void this.#end());
  }

  #send(running: Running, job: Job): void {
    const id = ++this.#lastId;
    const {method, url, headers, remoteAddress, signal, notes} = job.request;
    const timer = this.#parts.clock.schedule(this.#limits.ms, () => this.#timedOut(running, id));
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
    toThread(running.worker, {
      to: 'server',
      id,
      request: {
        method,
        url,
        headers: withoutImpersonation(headers),
        user: job.user,
        remoteAddress,
        body: job.body && new Uint8Array(job.body),
        audit: notes && {level: notes.level, omitsManagedFields: notes.omitsManagedFields},
      },
      verbosity: verbosityOf(this.#parts.log),
    });
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
    const options = {workerData: start(), resourceLimits: {maxOldGenerationSizeMb: megabytes}};
    const worker = confineErrors(new Worker(new URL('./request-worker.js', import.meta.url), options));
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
      case 'change':
        return this.#parts.recorder?.change(message.report, message.states);
      case 'admission':
        return this.#parts.recorder?.admission(message.report);
      case 'metrics':
        return recordSamples(this.#parts.meter, message.metrics);
      case 'start':
        if (message.failure !== undefined) return this.#unusable(new Error(message.failure));
        if (running.state === 'starting') running.state = 'ready';
        return this.#next();
      case 'server':
        return this.#finished(running, message.id, job => {
          if (message.response.notes) job.request.notes?.add(message.response.notes);
          job.resolve(responseOf(message.response));
        });
      case 'failure':
        this.#finished(running, message.id, job => job.reject(new StatusError(message.status)));
    }
  }

  /** The log of a component, which has its own verbosity. */
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

  #timedOut(running: Running, id: number): void {
    running.jobs.get(id)?.job.reject(requestTimeout());
    void this.#end(serviceUnavailable('another large request took too long, please try again later', 1));
  }

  #stale(running: Running): void {
    running.state = 'stale';
    if (this.#running === running) this.#next();
  }

  #failed(running: Running, error: Error & {code?: string}): void {
    if (this.#running !== running) return;
    if (running.state === 'starting') return this.#unusable(error); // A retry would fail in the same way.
    if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') {
      const alone = running.jobs.size === 1;
      return void this.#end(
        alone
          ? entityTooLarge(`handling the request takes more than ${this.#limits.megabytes} MiB`)
          : serviceUnavailable('too many large requests at the same time, please try again later', 1),
      );
    }
    this.#parts.log.error({err: error}, 'the thread for large requests ended by itself');
    void this.#end(serviceUnavailable('the request could not be completed', 1));
  }

  /** Leaves all further requests to their callers. */
  #unusable(error: Error): void {
    this.#cannotStart = true;
    this.#parts.log.warn({err: error}, 'large requests are answered beside all others, since no thread could be started for them');
    for (const job of this.#waiting.splice(0)) job.resolve(undefined);
    void this.#end();
  }

  /** Ends the thread. Its requests fail with the error; queued ones get a new thread. */
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
    running.worker.on('error', () => undefined); // Further messages of the thread are ignored.
    if (this.#waiting.length > 0 && !this.#cannotStart) this.#next();
    await running.worker.terminate();
  }
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- It is a thread, not a window.
const toThread = (worker: Worker, message: ToThread): void => worker.postMessage(message);

/** The highest verbosity of lines. */
const maxVerbosity = 10;

/** The current verbosity. */
const verbosityOf = (log: Log): number => {
  let level = 0;
  while (level < maxVerbosity && log.v(level + 1) !== noLog) level++;
  return level;
};

const clientGone = () => timeout('the client has gone away');

/** Without impersonation headers: the user is the impersonated one. */
const withoutImpersonation = (headers: ApiRequest['headers']): ApiRequest['headers'] =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('impersonate-')));

const responseOf = ({status, headers, contentType, body, outcome}: PlainResponse): ApiResponse => ({
  status,
  headers,
  body: contentType === undefined ? {kind: 'empty'} : {kind: 'bytes', contentType, bytes: bufferOf(body)},
  outcome,
});

/** Returns what creates the thread of a server with these flags. */
export const requestThread =
  (args: readonly string[]) =>
  ({address, timeoutMs, ...parts}: LargeRequestParts): RequestThread =>
    new RequestThread({...parts, start: () => ({args, address, records: parts.recorder !== undefined}), limits: {ms: timeoutMs + 5000}});
