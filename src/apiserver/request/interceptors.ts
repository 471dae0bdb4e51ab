// Lets interceptors make authorized requests for resources meet faults, before their handlers are called.

import type {InterceptedRequest, Interception, Interceptor} from '#src/api/faults/interceptor.js';
import {header, type ApiResponse, type WatchSink} from '#src/api/request.js';
import {sleep, type Clock} from '#src/base/clock.js';
import type {Handler} from './context.js';
import type {RequestInfo} from './request-info.js';

/**
 * The interceptors of requests for resources, in the order they were added.
 */
export class Interceptors {
  readonly #clock: Clock;
  readonly #all = new Set<{readonly intercept: Interceptor}>();
  #changed = (): void => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(intercept: Interceptor): Disposable {
    const entry = {intercept};
    this.#all.add(entry);
    this.#changed();
    return {
      [Symbol.dispose]: () => {
        this.#all.delete(entry);
        this.#changed();
      },
    };
  }

  get isEmpty(): boolean {
    return this.#all.size === 0;
  }

  /** Calls `listener` when interceptors have come or gone. */
  onChange(listener: () => void): void {
    this.#changed = listener;
  }

  /** Returns the handler of a request behind the interceptors. */
  around({verb, resource: target}: RequestInfo, handler: Handler): Handler {
    if (!target) return handler;
    const {group, resource, subresource, namespace, name} = target;
    return async context => {
      const userAgent = header(context.request, 'user-agent') ?? '';
      const request = {verb, group, resource, subresource, namespace, name, user: context.user.name, userAgent};
      return this.#meet(request, [...this.#all], async () => handler(context));
    };
  }

  /** Lets a request pass the interceptors, the first of them outermost, and then handles it. */
  async #meet(
    request: InterceptedRequest,
    [first, ...others]: readonly {readonly intercept: Interceptor}[],
    handle: () => Promise<ApiResponse>,
  ): Promise<ApiResponse> {
    if (!first) return handle();
    const met: Interception | undefined = first.intercept(request);
    const goOn = () => this.#meet(request, others, handle);
    switch (met?.kind) {
      case undefined:
        return goOn();
      case 'refuse':
        throw met.error;
      case 'delay':
        await sleep(this.#clock, met.ms);
        return goOn();
      case 'cut':
        return cut(await goOn(), met.afterMs, this.#clock);
      case 'around':
        // What it returns is the response of `goOn`, or one made of it.
        return (await met.around(goOn)) as ApiResponse;
    }
  }
}

/** Returns the response with a watch that ends after the time. Other responses stay as they are. */
const cut = (response: ApiResponse, afterMs: number, clock: Clock): ApiResponse => {
  const {body} = response;
  if (body.kind !== 'watch') return response;
  const start = (sink: WatchSink): Disposable => {
    const watch = body.start(sink);
    const timer = clock.schedule(afterMs, () => {
      watch[Symbol.dispose]();
      sink.end();
    });
    return {
      [Symbol.dispose]() {
        timer[Symbol.dispose]();
        watch[Symbol.dispose]();
      },
    };
  };
  return {...response, body: {...body, start}};
};
