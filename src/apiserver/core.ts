// The request core: the steps that every request passes through, over HTTP and in process, from its audit id to its handler. It holds no state of its own
// besides deadlines; limits, metrics and long-running responses are tracked by the objects in `CoreSettings`. It knows no resource: the router finds the
// handler.

import {type Delivery, discard, type ApiRequest, type ApiResponse, type ApiHandler} from '#src/api/request.js';
import type {Naming} from '#src/api/naming.js';
import {internalError, insufficientStorage, serviceUnavailable, StatusError, timeout, type Status} from '#src/api/status.js';
import type {UserInfo} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import type {Random} from '#src/base/random.js';
import {traced} from '#src/base/span.js';
import type {Tracer} from '#src/observe/tracer.js';
import type {AuthenticationRequest, Authenticator} from '#src/api/authentication.js';
import type {Attributes, Authorizer, Decision} from '#src/api/authorization.js';
import type {Auditor} from './audit/auditor.js';
import {beginAudit, recorded, type Annotation, type AuditState} from './audit/request-steps.js';
import {requestsImpersonation} from './authentication/impersonated-identity.js';
import type {Impersonation} from './authentication/impersonation.js';
import {authenticate, Unauthenticated, type Anonymous} from '#src/serving/authenticators/union.js';
import {denial} from '#src/serving/authorizers/denial.js';
import {StoreClosed, StoreFull, StoreTimeout} from '#src/storage/errors.js';
import {andThen, observed} from '#src/base/eventually.js';
import type {AccessMetrics} from './access-metrics.js';
import type {FlowControl} from './flowcontrol/flow-control.js';
import {protobufCodec} from '#src/schema/protobuf/codec.js';
import type {CborEncoding} from './request/cbor-encoding.js';
import {errorFormat, type ErrorFormat} from './handlers/resource.js';
import {encoded} from './handlers/encode.js';
import {Context, header, type Handler, type RequestTimes} from './request/context.js';
import {deadlineOf, Deadlines} from './request/deadline.js';
import {enterRequest, flowHeaders, flowLogFields, releaseWhenInitialized, type Entry} from './flowcontrol/entry.js';
import type {InFlight} from './flowcontrol/in-flight.js';
import {IncomingBody, type IncomingBodies} from '#src/serving/limits/incoming-bodies.js';
import {MalformedRequest, PlainRefusal, TooManyRequests, internalRefusal} from './request/plain-refusal.js';
import type {RequestLog} from './request/request-log.js';
import type {LongRunningResponses} from './request/long-running.js';
import {tracedHandler, tracedRequest} from './request/request-tracing.js';
import {attributesOf, isLongRunning, requestInfo, type RequestInfo} from './request/request-info.js';
import {warningHeaders, Warnings} from './request/warnings.js';

/** The parts that every request passes through. */
export interface CoreSettings {
  readonly naming: Naming;
  readonly cbor: CborEncoding | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly authenticators: readonly Authenticator[];
  readonly anonymous: Anonymous | undefined;
  readonly authorizer: Authorizer;
  readonly impersonation: Impersonation;
  readonly access: AccessMetrics;
  readonly requestTimeoutMs: number;
  readonly inFlight: InFlight;
  /** Limits the requests that are executed at the same time; without it `inFlight` does. */
  readonly flowControl?: FlowControl | undefined;
  /** Requests whose body has not arrived yet; they do not count as in flight. */
  readonly bodies: IncomingBodies;
  /** Long-running responses except watches. */
  readonly longLived: LongRunningResponses;
  /** Once set, new requests are refused with 429. */
  readonly draining: {rejects: boolean};
  /** Returns the handler of a request; never authorizes. */
  route(info: RequestInfo): Handler;
  /** Throws to refuse an authorized request that has to wait. */
  checkPublished?(info: RequestInfo, user: UserInfo): void;
  /** Called after every request, for metrics. Returns the response to send, which differs only in that it records its size. */
  finished(
    request: ApiRequest,
    info: RequestInfo | undefined,
    response: ApiResponse,
    times: RequestTimes,
    termination: Termination | undefined,
  ): ApiResponse;
  /** Records requests in the audit log, if it is on. */
  readonly auditor?: Auditor | undefined;
  /** Creates the spans of requests, if tracing is on. */
  readonly tracer?: Tracer | undefined;
  /** Logs requests at higher verbosities. */
  readonly log?: RequestLog;
  /** Called for failures that are the server's own fault. */
  failed(error: unknown, request: ApiRequest): void;
}

/**
 * The path of every request, over every transport: audit id, classification, deadline, authentication, impersonation, limits, authorization, handler.
 * Every error becomes a Status; nothing is thrown to the HTTP server.
 */
export const requestCore = (settings: CoreSettings): ApiHandler => {
  const {clock} = settings;
  const deadlines = new Deadlines(clock);
  return async received => {
    const request = settings.log?.track(received) ?? received;
    const startedAt = clock.monotonic();
    const auditId = header(request, 'audit-id')?.slice(0, maxAuditIdLength) || settings.random.uuid();
    let info: RequestInfo | undefined;
    const warnings = new Warnings();
    const times: RequestTimes = {startedAt, webhooksMs: 0};
    let response: ApiResponse;
    let state: RequestState | undefined;
    let isMalformed = false;
    let failed: unknown;
    try {
      info = requestInfo(request.method, request.url);
      const deadline = deadlineOf(info, settings.requestTimeoutMs);
      const endsAt = deadline === undefined ? undefined : startedAt + deadline;
      state = {
        auditId,
        warnings,
        times,
        notes: 'user' in request.caller ? request.caller.notes : undefined,
        audit: undefined,
        isIdentified: false,
        deadlineAt: Math.min(endsAt ?? Infinity, startedAt + writeTimeoutMs),
        endsAt: request.inProcess ? undefined : endsAt,
        isAuthorized: false,
        flow: '',
        place: undefined,
        entered: undefined,
        deadlineMs: deadline,
        schema: undefined,
        seats: undefined,
        isRefused: false,
      };
      const started = state;
      const work = answer(settings, request, info, state);
      response = await (request.inProcess ? work : deadlines.within(deadline, work, late => discardLate(late, started)));
      if (state.entered) trackDelivery(request, response, state);
    } catch (error) {
      // The original's HTTP server refuses a request that cannot be parsed, without the headers of the API server.
      isMalformed = error instanceof MalformedRequest;
      failed = error;
      const codecs = codecsFor(request, settings);
      if (codecs) await codecs;
      response = failure(settings, request, error, !state?.isAuthorized);
      if (state?.isRefused) flowHeaders(settings.naming, response, state);
      if (state?.place instanceof IncomingBody) state.place.stop(bodyTimeout());
    }
    if (!isMalformed) finish(response, auditId, warnings);
    if (settings.auditor && info) {
      const audited = recorded(settings.auditor, {request, info, auditId, times}, {state, response, error: failed});
      response = audited instanceof Promise ? await audited : audited;
    }
    response = settings.finished(request, info, response, times, state && terminationOf(failed, state));
    settings.log?.answered(request, info, {response, auditId, startedAt, flow: () => (state ? flowLogFields(state) : {})});
    return isStreaming(response) && info && isLongRunning(info) ? settings.longLived.follow(response, info) : response;
  };
};

const isStreaming = ({body: {kind}}: ApiResponse): boolean => kind === 'stream' || kind === 'upgrade';

/** How the server has ended a request to protect itself: rejected it above the limits, or given it up at its deadline. */
export type Termination = 'rejected' | 'late';

const terminationOf = (error: unknown, {isRefused}: RequestState): Termination | undefined => {
  if (error instanceof TooManyRequests) return 'rejected';
  return !isRefused && error instanceof StatusError && error.status.code === 504 ? 'late' : undefined;
};

/** The longest audit id accepted from a client and returned, in characters. Differs from upstream, which returns as many as headers can have. */
const maxAuditIdLength = 1024;

/** The deadline of the outgoing calls of a write, however long the request itself may take. */
const writeTimeoutMs = 34_000;

/** The state of a request from its start. */
interface RequestState extends AuditState, Entry {
  readonly auditId: string;
  readonly warnings: Set<string>;
  readonly times: RequestTimes;
  readonly deadlineAt: number;
  readonly endsAt: number | undefined;
  isAuthorized: boolean;
  /** The name of the user. */
  flow: string;
  /** The place among the requests in flight. */
  place: Disposable | undefined;
  /** The same place, once there is a response. */
  entered: Disposable | undefined;
  /** Whether the request was refused after it was authenticated, and not for its deadline. */
  isRefused: boolean;
}

/** The sending of a response whose request stays in flight until it ends. */
class Sending implements Delivery {
  readonly endsAt: number;
  readonly flow: string;
  #entered: Disposable | undefined;

  constructor(endsAt: number, flow: string, entered: Disposable) {
    this.endsAt = endsAt;
    this.flow = flow;
    this.#entered = entered;
  }

  [Symbol.dispose](): void {
    this.#entered?.[Symbol.dispose]();
    this.#entered = undefined;
  }
}

/** Keeps a request in flight until its response is sent, where sending takes time. */
const trackDelivery = (request: ApiRequest, response: ApiResponse, {entered, endsAt, flow}: RequestState): void => {
  const {sendsBytes} = request;
  if (response.body.kind === 'watch') releaseWhenInitialized(request, entered!);
  else if (sendsBytes && endsAt !== undefined) response.delivery = new Sending(endsAt, flow, entered!);
  else entered![Symbol.dispose]();
};

/** Discards a response that was ready after the deadline. */
const discardLate = (response: ApiResponse, {entered}: RequestState): void => {
  entered?.[Symbol.dispose]();
  discard(response);
};

const answer = (settings: CoreSettings, request: ApiRequest, info: RequestInfo, state: RequestState): Promise<ApiResponse> => {
  if (settings.draining.rejects && !isServedDuringShutdown(request, info)) throw shutdownRefusal();
  const {tracer} = settings;
  const {auditId, times} = state;
  const proceed = (user: UserInfo): Promise<ApiResponse> =>
    tracer
      ? tracedRequest(tracer, {request, info, user, auditId, times}, () => answerUser(settings, request, info, state, user))
      : answerUser(settings, request, info, state, user);
  const found = userOf(settings, request, info, state);
  return found instanceof Promise ? found.then(proceed) : proceed(found);
};

const answerUser = async (
  settings: CoreSettings,
  request: ApiRequest,
  info: RequestInfo,
  state: RequestState,
  user: UserInfo,
): Promise<ApiResponse> => {
  state.flow = user.name;
  try {
    const entered = (state.place = enterRequest(settings, {request, info, user}, state));
    const {ready} = entered;
    const waiting = settings.flowControl ? traced('priorityandfairness', noAttributes, () => ready) : ready;
    if (waiting) await waiting;
    const context = new Context(request, info, user, state);
    if (info.verb === 'watch') context.initialized = () => entered[Symbol.dispose]();
    const attributes = attributesOf(user, info);
    const deciding = traced('authorization', noAttributes, () => authorized(settings, attributes, state));
    const decision = deciding instanceof Promise ? await deciding : deciding;
    state.audit?.authorized(decision);
    allowed(settings, request, attributes, decision);
    state.isAuthorized = true;
    settings.checkPublished?.(info, user);
    const codecs = codecsFor(request, settings);
    if (codecs) await codecs;
    const handled = tracedHandler(request, info, state.auditId, () => settings.route(info)(context));
    const response = handled instanceof Promise ? await handled : handled;
    flowHeaders(settings.naming, response, state);
    state.entered = entered;
    return response;
  } catch (error) {
    state.isRefused = true;
    state.place?.[Symbol.dispose]();
    throw error;
  }
};

const noAttributes = () => ({});

/** Ends the reading of a body after the request was answered. */
const bodyTimeout = (): Error => timeout('request did not complete within the allotted timeout');

/** Loads the codecs of the media types that a request names; undefined if nothing has to be loaded. */
const codecsFor = (request: ApiRequest, {naming, cbor}: CoreSettings): Promise<unknown> | undefined => {
  const accept = header(request, 'accept');
  const speaksCbor = cbor && !cbor.loaded && (accept?.includes('cbor') || header(request, 'content-type')?.includes('cbor'));
  const codec = accept?.includes(naming.protobufMediaType) ? protobufCodec() : undefined;
  return speaksCbor ? Promise.all([codec, cbor.load()]) : codec;
};

/** Whether a request is served during shutdown: health, metrics, and the server's own components. */
const isServedDuringShutdown = ({inProcess}: ApiRequest, {path}: RequestInfo): boolean =>
  inProcess === true || /^\/(healthz|livez|readyz|metrics)(\/|$)/.test(path);

/** The refusal during shutdown; the client retries with another server. */
const shutdownRefusal = (): PlainRefusal =>
  new PlainRefusal(429, 'The apiserver is shutting down, please try again later.', {'Retry-After': '5', Connection: 'close'});

/**
 * Returns the user after authentication and impersonation. Like the following functions it returns a promise only where needed, since each await costs as
 * much as the step.
 */
const userOf = (settings: CoreSettings, request: ApiRequest, info: RequestInfo, state: RequestState): UserInfo | Promise<UserInfo> => {
  const {caller, headers} = request;
  const {auditor} = settings;
  const warn = (text: string) => void state.warnings.add(text);
  const effectiveUser = (user: UserInfo) =>
    requestsImpersonation(headers) ? impersonatedUser(settings, request, attributesOf(user, info), state) : user;
  if (!auditor)
    return andThen(
      'user' in caller ? caller.user : authenticated(settings, {credentials: caller.credentials, headers, warn}, info.path, state.times),
      effectiveUser,
    );
  const annotations: Annotation[] = [];
  const annotate = (key: string, text: string) => void annotations.push([key, text]);
  const found =
    'user' in caller
      ? caller.user
      : authenticated(settings, {credentials: caller.credentials, headers, warn, annotate}, info.path, state.times);
  const {auditId, times} = state;
  return andThen(found, user =>
    andThen(beginAudit(auditor, {request, info, auditId, times}, {user, annotations, state}), () => effectiveUser(user)),
  );
};

const impersonatedUser = async (
  {impersonation, clock}: CoreSettings,
  request: ApiRequest,
  attributes: Attributes,
  {audit, times}: RequestState,
): Promise<UserInfo> => {
  const startedAt = clock.monotonic();
  const {user, constraint} = await impersonation.of(request, attributes);
  times.impersonation = [startedAt, clock.monotonic()];
  if (user !== attributes.user) audit?.impersonated(user, constraint);
  return user;
};

/** Authenticates a request, and counts and times it. */
const authenticated = (
  {access, clock, log, authenticators, anonymous, auditor, tracer}: CoreSettings,
  request: AuthenticationRequest,
  path: string,
  times: RequestTimes,
): UserInfo | Promise<UserInfo> => {
  const startedAt = clock.monotonic();
  return observed(
    () => authenticate(authenticators, anonymous, request, path),
    user => {
      access.authenticated(user, startedAt);
      if (auditor || tracer) times.authenticationMs = clock.monotonic() - startedAt;
    },
    error => {
      log?.notAuthenticated(path, error);
      access.notAuthenticated(error instanceof Unauthenticated && !error.hadCredentials ? 'failure' : 'error', startedAt);
    },
  );
};

/** Authorizes a request, and counts and times it. */
const authorized = (
  {authorizer, access, clock}: CoreSettings,
  attributes: Attributes,
  {times, audit}: RequestState,
): Decision | Promise<Decision> => {
  const startedAt = clock.monotonic();
  return observed(
    () => authorizer.authorize(attributes),
    decision => {
      access.authorized(decision, startedAt);
      if (audit) times.authorizationMs = clock.monotonic() - startedAt;
    },
    () => {
      access.authorizationFailed(startedAt);
      audit?.notAuthorized();
    },
  );
};

/** Throws unless the request is allowed. Errors of authorizers are shown only if none allows it. */
const allowed = ({log}: CoreSettings, {url}: ApiRequest, attributes: Attributes, decision: Decision): void => {
  if (decision.decision === 'allow') return;
  if (decision.error !== undefined) throw internalRefusal(url, decision.error);
  log?.denied(attributes, decision);
  throw denial(attributes, decision.reason);
};

const failure = (settings: CoreSettings, request: ApiRequest, error: unknown, isBeforeHandler: boolean): ApiResponse => {
  if (error instanceof PlainRefusal) return error.response();
  const format = errorFormat(request, settings);
  if (error instanceof StatusError) return statusResponse(error.status, format, isBeforeHandler);
  if (error instanceof StoreClosed) return statusResponse(serviceUnavailable('the server has stopped').status, format, isBeforeHandler);
  // The store logs once that it is full.
  if (error instanceof StoreFull) return statusResponse(insufficientStorage(error).status, format, isBeforeHandler);
  settings.failed(error, request);
  // The reason is logged; what the store's servers say is not for clients.
  if (error instanceof StoreTimeout)
    return statusResponse(timeout('request did not complete within the allotted timeout').status, format, isBeforeHandler);
  return statusResponse(internalError(error).status, format, isBeforeHandler);
};

/** The response that carries a Status, in the requested form. */
const statusResponse = (status: Status, {accepted, pretty}: ErrorFormat, isBeforeHandler: boolean): ApiResponse => {
  const retryAfter = status.details?.retryAfterSeconds;
  return {
    status: status.code ?? 500,
    headers: {
      // The original's filters before the handler forbid guessing the type of their refusals.
      ...(isBeforeHandler && (status.code === 400 || status.code === 403) ? {'X-Content-Type-Options': 'nosniff'} : {}),
      ...(retryAfter ? {'Retry-After': String(retryAfter)} : {}),
    },
    body: encoded(accepted, () => status, pretty),
    outcome: status,
  };
};

const finish = ({headers}: ApiResponse, auditId: string, warnings: ReadonlySet<string>): void => {
  headers['Audit-Id'] = auditId;
  headers['Cache-Control'] ??= 'no-cache, private';
  if (warnings.size > 0) headers['Warning'] = [...warningHeaders(warnings), ...[headers['Warning'] ?? []].flat()];
};
