// The path of every request, over every transport: the filters in the order in which a request passes them. A filter
// adds what it finds out to the stage that it hands on (`filters/filter.ts` has the stages); answers come back through
// the same filters. The chain knows no resource: the router finds the handler.

import {header, type ApiHandler, type ApiRequest, type ApiResponse} from '#src/api/request.js';
import type {Authorizer} from '#src/api/authorization.js';
import type {Clock} from '#src/base/clock.js';
import {andThen, type Eventually} from '#src/base/eventually.js';
import type {Random} from '#src/base/random.js';
import type {Tracer} from '#src/observe/tracer.js';
import type {AccessMetrics} from './filters/access-metrics.js';
import type {Auditor} from './audit/auditor.js';
import type {Impersonation} from './authentication/impersonation.js';
import {withAudit, withAuditTrail} from './filters/audit.js';
import {withAuthentication, type Authentication} from './filters/authentication.js';
import {withAuthorization} from './filters/authorization.js';
import {withDeadline} from './filters/deadline.js';
import {refusal, withHandlerErrors, withRefusals} from './filters/failures.js';
import {Filters, passThrough} from './filters/filter.js';
import {arrive, type Arrived, type Entered, type Received} from './filters/stages.js';
import {withImpersonation} from './filters/impersonation.js';
import {withLog, type RequestLog} from './filters/log.js';
import {withLongRunning} from './filters/long-running.js';
import {withMetrics, type MeasuredRequests} from './filters/metrics.js';
import {withPriorityAndFairness, type RequestLimits} from './filters/priority-and-fairness.js';
import {addHeaders, withResponseHeaders} from './filters/response-headers.js';
import {withShutdown} from './filters/shutdown.js';
import {withOperationSpan, withTracing} from './filters/tracing.js';
import type {ResponseEncodings} from './handlers/resource.js';
import type {StoredVersionsBarrier} from './registry/stored-versions.js';
import {codecsFor} from './request/media-type.js';
import {Context, type Handler} from './request/context.js';
import type {LongRunningResponses} from './request/long-running.js';
import {MalformedRequest} from './request/plain-refusal.js';
import {requestInfo, type RequestInfo} from './request/request-info.js';

/** The way of requests to their handlers, which is replaced while the server runs. */
export interface Routing {
  /** Returns the handler of a request; never authorizes. */
  find(info: RequestInfo): Handler;
}

/** What the filters use. */
export interface ChainSettings {
  readonly clock: Clock;
  readonly random: Random;
  readonly encodings: ResponseEncodings;
  readonly authentication: Authentication;
  readonly authorizer: Authorizer;
  readonly impersonation: Impersonation;
  readonly access: AccessMetrics;
  readonly metrics: MeasuredRequests;
  readonly requestTimeoutMs: number;
  readonly limits: RequestLimits;
  readonly longRunning: LongRunningResponses;
  /** Once set, new requests are refused with 429. */
  readonly draining: {rejects: boolean};
  readonly routing: Routing;
  /** Refuses authorized requests that have to wait. */
  readonly storedVersions: Pick<StoredVersionsBarrier, 'isOpen' | 'check'>;
  /** Records requests in the audit log, if it is on. */
  readonly auditor?: Auditor | undefined;
  /** Creates the spans of requests, if tracing is on. */
  readonly tracer?: Tracer | undefined;
  /** Logs requests at higher verbosities. */
  readonly log?: RequestLog | undefined;
  /** Called for failures that are the server's own fault. */
  failed(error: unknown, request: ApiRequest): void;
}

/** Every error becomes a Status; nothing is thrown to the HTTP server. */
export const buildHandlerChain = (settings: ChainSettings): ApiHandler => {
  const {clock, encodings, access, auditor, tracer, log} = settings;
  const observers = {metrics: access, clock, log};
  const handle = new Filters(withLongRunning(settings.longRunning))
    .through(log ? withLog(log) : passThrough)
    .through(withMetrics(settings.metrics, clock))
    .through(auditor ? withAuditTrail(auditor) : passThrough)
    .through(withResponseHeaders)
    .through(withRefusals(settings))
    .through(withDeadline(clock, settings.requestTimeoutMs))
    .through(withShutdown(settings.draining))
    .through(withAuthentication(settings.authentication, observers))
    .through(auditor ? withAudit : passThrough)
    .through(withImpersonation(settings.impersonation, clock))
    .through(tracer ? withTracing(tracer) : passThrough)
    .through(withPriorityAndFairness(encodings.naming, settings.limits))
    .through(withAuthorization(settings.authorizer, observers))
    .through(withHandlerErrors(settings))
    .through(tracer ? withOperationSpan : passThrough)
    .to(callHandler(settings));
  return receive(settings, handle);
};

/**
 * The longest audit id accepted from a client and returned, in characters. Differs from upstream, which returns as many
 * as headers can have.
 */
const maxAuditIdLength = 1024;

/** Begins the chain: the request gets its audit id, its times, and what its URL says. */
const receive =
  (settings: ChainSettings, handle: (received: Received) => Eventually<ApiResponse>): ApiHandler =>
  async incoming => {
    const {clock, random, log} = settings;
    const request = log?.track(incoming) ?? incoming;
    const times = {startedAt: clock.monotonic(), webhooksMs: 0};
    const auditId = header(request, 'audit-id')?.slice(0, maxAuditIdLength) || random.uuid();
    const arrived = arrive(request, auditId, times);
    let info: RequestInfo;
    try {
      info = requestInfo(request.method, request.url);
    } catch (error) {
      return refuseUnread(settings, arrived, error);
    }
    return handle(arrived.received(info));
  };

/** Refuses a request whose URL cannot be understood. */
const refuseUnread = async (settings: ChainSettings, arrived: Arrived, error: unknown): Promise<ApiResponse> => {
  const {request, auditId, times} = arrived;
  const {response} = await refusal(settings, request, error);
  // The original's HTTP server refuses a request that cannot be parsed, without the headers of the API server.
  if (!(error instanceof MalformedRequest)) addHeaders(response, arrived);
  settings.log?.answered(request, undefined, {response, auditId, startedAt: times.startedAt});
  return response;
};

/** Ends the chain: the handler of what is requested answers. */
const callHandler =
  ({routing, storedVersions, encodings}: ChainSettings): ((entered: Entered) => Eventually<ApiResponse>) =>
  entered => {
    const {request, info, user, place} = entered;
    if (!storedVersions.isOpen) storedVersions.check(info, user);
    const context = contextOf(entered);
    if (info.verb === 'watch') context.initialized = () => place[Symbol.dispose]();
    return andThen(codecsFor(request, encodings), () => routing.find(info)(context));
  };

const contextOf = ({request, info, user, deadline, auditId, warnings, times, notes}: Entered): Context =>
  new Context(request, info, user, {auditId, warnings, times, notes, deadlineAt: deadline.callsEndAt, endsAt: deadline.endsAt});
