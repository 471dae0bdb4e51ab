import type {InterceptedRequest, Interception, Interceptor} from '#src/api/faults/interceptor.js';
import type {Kind} from '#src/api/kind.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import {conflict, expired, internalError, tooManyRequests} from '#src/api/status.js';
import {msOf, type Duration} from '#src/operator/result.js';
import {WatchStreams} from './watch-streams.js';

/**
 * A refusal by its code; a `slow` request, which is handled after the delay; a watch whose stream is cut after the
 * delay; a watch with a stale cache, whose newest events are withheld; or a watch event that is delivered late, with
 * those that follow it, or twice.
 */
export type Fault = 409 | 410 | 429 | 500 | 'slow' | 'cut watch' | EventFault;

type EventFault = 'stale cache' | 'delayed event' | 'doubled event';

/** A fault and the requests that it affects: those that match everything that is given. */
export interface InjectOptions {
  readonly fault: Fault;
  /** The verb as in RBAC, for example `get`, `list`, `watch`, `create`, `update`, `patch` or `delete`. */
  readonly verb?: string;
  readonly kind?: Pick<Kind, 'group' | 'plural'>;
  readonly namespace?: string;
  readonly name?: string;
  /** The name of the authenticated user. */
  readonly user?: string;
  /** A substring of the user agent. */
  readonly userAgent?: string;
  /** The number of affected requests or events. Default 1; for a stale cache `always`. */
  readonly count?: number | 'always';
  /** The delay of a slow request, a watch or an event, by the plane's clock: 10 s by default, and 0 for a watch. */
  readonly after?: Duration;
  /** The number of changes that a stale cache is behind. Default 1. */
  readonly behind?: number;
  /** The Retry-After of 429, in whole seconds. Default 1. */
  readonly retryAfterSeconds?: number;
}

/** An injected fault. Disposing of it ends it; requests already affected are not changed. */
export interface Injected extends Disposable {
  /** The number of affected requests or events. */
  readonly count: number;
}

/** The part of a plane that `inject` uses. */
interface Interceptable {
  readonly naming: Naming;
  readonly clock: Clock;
  intercept(interceptor: Interceptor): Disposable;
}

/**
 * Injects a fault into matching authorized requests for resources of any client: users, informers, controllers, other
 * processes. Faults that match the same request apply in the order of their injection. A refused request changes
 * nothing. Event faults affect watches that start after the injection; `namespace` and `name` are those of the event's
 * object then. Events withheld from a stale cache are delivered when the fault is disposed of. Throws RangeError for a
 * count that is not a positive integer.
 */
export const inject = (plane: Interceptable, options: InjectOptions): Injected => {
  const {fault, count = fault === 'stale cache' ? 'always' : 1, behind = 1} = options;
  if (count !== 'always') checkPositive('count', count, " or 'always'");
  checkPositive('behind', behind);
  const most = count === 'always' ? Infinity : count;
  let met = 0;
  const meets = () => met < most && Boolean(++met);
  const {intercept, release} = isEventFault(fault)
    ? eventInterceptor(plane, {...options, fault, behind}, meets)
    : requestInterceptor(plane, options, meets);
  const registered = plane.intercept(intercept);
  return {
    get count() {
      return met;
    },
    [Symbol.dispose]() {
      registered[Symbol.dispose]();
      release();
    },
  };
};

const checkPositive = (what: string, value: number, others = ''): void => {
  if (!(Number.isInteger(value) && value > 0)) throw new RangeError(`${what} is ${value}, not a positive integer${others}`);
};

const isEventFault = (fault: Fault): fault is EventFault =>
  fault === 'stale cache' || fault === 'delayed event' || fault === 'doubled event';

const delayOf = ({fault, after}: InjectOptions): number => msOf(after ?? (fault === 'cut watch' ? 0 : '10s'));

/** The interceptor before the handlers, and the function that releases withheld events. */
interface Injection {
  readonly intercept: Interceptor;
  release(): void;
}

const requestInterceptor = ({naming}: Interceptable, options: InjectOptions, meets: () => boolean): Injection => {
  const afterMs = delayOf(options);
  return {
    intercept: request => (isMet(options, naming, request) && meets() ? interceptionOf(options, afterMs, request) : undefined),
    release() {},
  };
};

const eventInterceptor = (
  {naming, clock}: Interceptable,
  {namespace, name, ...options}: InjectOptions & {readonly fault: EventFault; readonly behind: number},
  meets: () => boolean,
): Injection => {
  const {fault, behind} = options;
  const lateMs = delayOf(options);
  let isOver = false;
  const streams = new WatchStreams({
    clock,
    deliveryOf(_, event) {
      const {metadata} = event.object() as KubeObject;
      const isNamed = (name === undefined || metadata?.name === name) && (namespace === undefined || metadata?.namespace === namespace);
      if (isOver || !isNamed || !meets()) return 'pass';
      return fault === 'stale cache' ? {behind} : fault === 'delayed event' ? {lateMs} : 'double';
    },
  });
  return {
    intercept: request =>
      request.verb === 'watch' && isMet(options, naming, request)
        ? {kind: 'around', around: async handle => streams.around(request.resource, await handle())}
        : undefined,
    release() {
      isOver = true;
      streams.release();
    },
  };
};

const isMet = ({fault, kind, userAgent, ...exact}: InjectOptions, naming: Naming, request: InterceptedRequest): boolean =>
  (fault !== 'cut watch' || request.verb === 'watch') &&
  (kind === undefined || (kind.plural === request.resource && naming.group(kind.group) === request.group)) &&
  (userAgent === undefined || request.userAgent.includes(userAgent)) &&
  (['verb', 'namespace', 'name', 'user'] as const).every(field => exact[field] === undefined || exact[field] === request[field]);

const interceptionOf = (
  {fault, retryAfterSeconds = 1}: InjectOptions,
  afterMs: number,
  request: InterceptedRequest,
): Interception | undefined => {
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
    default:
      return undefined; // Event faults.
  }
};
