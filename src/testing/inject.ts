import type {InterceptedRequest, Interception, Interceptor} from '#src/api/faults/interceptor.js';
import type {Kind} from '#src/api/kind.js';
import type {Naming} from '#src/api/naming.js';
import {conflict, expired, internalError, tooManyRequests} from '#src/api/status.js';
import {msOf, type Duration} from '#src/operator/result.js';

/** Refusals by code, a `slow` request, which is handled after the delay, or a watch whose stream ends after the delay. */
export type Fault = 409 | 410 | 429 | 500 | 'slow' | 'cut watch';

/** What a request meets, and which requests: those that match everything that is given. */
export interface InjectOptions {
  readonly fault: Fault;
  /** The verb of authorization, for example `get`, `list`, `watch`, `create`, `update`, `patch` or `delete`. */
  readonly verb?: string;
  readonly kind?: Pick<Kind, 'group' | 'plural'>;
  readonly namespace?: string;
  readonly name?: string;
  /** The name of the authenticated user. */
  readonly user?: string;
  /** A part of the user agent. */
  readonly userAgent?: string;
  /** How many requests meet the fault. Default 1. */
  readonly count?: number | 'always';
  /** How long a request is slow or a watch lasts, by the plane's clock: 10 s and 0 by default. */
  readonly after?: Duration;
  /** The Retry-After of 429, in whole seconds. Default 1. */
  readonly retryAfterSeconds?: number;
}

/** An injected fault. Disposing of it ends it; requests that have met it are not changed. */
export interface Injected extends Disposable {
  /** How many requests have met the fault. */
  readonly count: number;
}

/** What `inject` needs of a plane. */
interface Interceptable {
  readonly naming: Naming;
  intercept(interceptor: Interceptor): Disposable;
}

/**
 * Makes authorized requests for resources meet a fault, whoever makes them: clients, informers, controllers, other processes. Faults that match the same request
 * apply in the order they were injected. A refused request changes nothing. Throws RangeError for a count that is not a positive integer.
 */
export const inject = (plane: Interceptable, options: InjectOptions): Injected => {
  const {naming} = plane;
  const {count = 1} = options;
  if (count !== 'always' && !(Number.isInteger(count) && count > 0))
    throw new RangeError(`count is ${count}, not a positive integer or 'always'`);
  const most = count === 'always' ? Infinity : count;
  const afterMs = msOf(options.after ?? (options.fault === 'slow' ? '10s' : 0));
  let met = 0;
  const registered = plane.intercept(request => {
    if (met >= most || !isMet(options, naming, request)) return undefined;
    met++;
    return interceptionOf(options, afterMs, request);
  });
  return {
    get count() {
      return met;
    },
    [Symbol.dispose]: () => registered[Symbol.dispose](),
  };
};

const isMet = ({fault, kind, userAgent, ...exact}: InjectOptions, naming: Naming, request: InterceptedRequest): boolean =>
  (fault !== 'cut watch' || request.verb === 'watch') &&
  (kind === undefined || (kind.plural === request.resource && naming.group(kind.group) === request.group)) &&
  (userAgent === undefined || request.userAgent.includes(userAgent)) &&
  (['verb', 'namespace', 'name', 'user'] as const).every(field => exact[field] === undefined || exact[field] === request[field]);

const interceptionOf = ({fault, retryAfterSeconds = 1}: InjectOptions, afterMs: number, request: InterceptedRequest): Interception => {
  switch (fault) {
    case 409:
      return {kind: 'refuse', error: conflict(request, request.name)};
    case 410:
      return {kind: 'refuse', error: expired('The resourceVersion for the provided watch is too old.')};
    case 429:
      return {kind: 'refuse', error: tooManyRequests('Too many requests, please try again later.', retryAfterSeconds)};
    case 500:
      return {kind: 'refuse', error: internalError(new Error('injected fault'))};
    case 'slow':
      return {kind: 'delay', ms: afterMs};
    case 'cut watch':
      return {kind: 'cut', afterMs};
  }
};
