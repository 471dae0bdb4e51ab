// Lets interceptors make authorized requests for resources meet faults, before their handlers are called.

import type {InterceptedRequest, Interception, Interceptor} from '#src/api/faults/interceptor.js';
import type {ApiResponse, WatchSink} from '#src/api/request.js';
import {sleep, type Clock} from '#src/base/clock.js';
import {header, type Handler} from './context.js';
import type {RequestInfo} from './request-info.js';

/** The interceptors of requests for resources, in the order they were added. Without any, requests go straight to their handlers. */
export class Interceptors {
  readonly #clock: Clock;
  readonly #all = new Set<{readonly intercept: Interceptor}>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(intercept: Interceptor): Disposable {
    const entry = {intercept};
    this.#all.add(entry);
    return {[Symbol.dispose]: () => void this.#all.delete(entry)};
  }

  /** Returns the handler of a request behind the interceptors. */
  around({verb, resource: target}: RequestInfo, handler: Handler): Handler {
    if (this.#all.size === 0 || !target) return handler;
    const {group, resource, subresource, namespace, name} = target;
    return async context => {
      const userAgent = header(context.request, 'user-agent') ?? '';
      const request = {verb, group, resource, subresource, namespace, name, user: context.user.name, userAgent};
      const cuts = await this.#meet(request);
      const response = await handler(context);
      return cuts === undefined ? response : cut(response, cuts, this.#clock);
    };
  }

  /** Applies refusals and delays. Returns after how many milliseconds the stream of the response ends, if it does. */
  async #meet(request: InterceptedRequest): Promise<number | undefined> {
    let cutsAfter: number | undefined;
    for (const {intercept} of this.#all) {
      const met: Interception | undefined = intercept(request);
      if (met?.kind === 'refuse') throw met.error;
      if (met?.kind === 'delay') await sleep(this.#clock, met.ms);
      if (met?.kind === 'cut') cutsAfter = Math.min(cutsAfter ?? Infinity, met.afterMs);
    }
    return cutsAfter;
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
