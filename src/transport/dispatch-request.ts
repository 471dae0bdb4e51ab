import {BodyChunks} from '#src/base/collections/body-chunks.js';
import type {Dispatcher} from 'undici';

export interface HttpHead {
  readonly status: number;
  /** Returns a response header by its lower-case name. */
  header(name: string): string | undefined;
}

/** Receives a streamed body. No call follows `end`. */
export interface StreamSink {
  /** Called first, with the response head. */
  begin?(head: HttpHead): void;
  data(chunk: Buffer): void;
  end(error?: unknown): void;
}

/** Errors of connections that the server closed before a response began. */
const unanswered = new WeakSet<Error>();

/** Whether a request failed because its connection was closed before a response began. */
export const isUnanswered = (error: unknown): boolean => error instanceof Error && unanswered.has(error);

/**
 * Runs one request. With a sink the body of a 200 goes there and the promise resolves to undefined at the head;
 * otherwise it resolves to the whole response.
 */
export const dispatchRequest = (
  pool: Dispatcher,
  options: Dispatcher.DispatchOptions,
  signal: AbortSignal | undefined,
  sink?: StreamSink,
): Promise<(HttpHead & {readonly body: Buffer}) | undefined> =>
  new Promise((resolve, reject) => {
    pool.dispatch(options, new ResponseHandler({signal, sink, resolve, reject}));
  });

interface Requester {
  readonly signal: AbortSignal | undefined;
  readonly sink: StreamSink | undefined;
  resolve(reply: (HttpHead & {readonly body: Buffer}) | undefined): void;
  reject(error: unknown): void;
}

class ResponseHandler implements Dispatcher.DispatchHandler {
  readonly #requester: Requester;
  readonly #chunks = new BodyChunks();
  readonly #cancel: () => void;
  #controller: Dispatcher.DispatchController | undefined;
  #head: HttpHead | undefined;
  #isStreaming = false;
  #isOver = false;

  constructor(requester: Requester) {
    this.#requester = requester;
    const {signal} = requester;
    this.#cancel = () => {
      this.#controller?.abort(signal!.reason as Error);
      this.#fail(signal!.reason);
    };
    signal?.addEventListener('abort', this.#cancel, {once: true});
    if (signal?.aborted) this.#cancel();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isOver) controller.abort(new Error('nobody waits for the answer any more'));
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (status < 200 || this.#isOver) return;
    this.#head = {
      status,
      header(name) {
        const value = headers[name];
        return Array.isArray(value) ? value.join(', ') : value;
      },
    };
    if (status !== 200 || !this.#requester.sink) return;
    this.#isStreaming = true;
    this.#requester.sink.begin?.(this.#head);
    this.#requester.resolve(undefined);
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return;
    if (this.#isStreaming) this.#requester.sink!.data(chunk);
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    if (!this.#settle()) return;
    if (this.#isStreaming) this.#requester.sink!.end();
    else this.#requester.resolve({...this.#head!, body: this.#chunks.take()});
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (!this.#head && ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? ''))
      unanswered.add(error);
    this.#fail(error);
  }

  #fail(error: unknown): void {
    if (!this.#settle()) return;
    // An aborted stream is not notified of its end.
    if (this.#isStreaming) {
      if (!this.#requester.signal?.aborted) this.#requester.sink!.end(error);
    } else this.#requester.reject(error);
  }

  #settle(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#requester.signal?.removeEventListener('abort', this.#cancel);
    return true;
  }
}
