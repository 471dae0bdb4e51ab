// What a handler receives: the request, its attributes, its user, its warnings and its deadlines. A context is created
// per request and never shared; `having` and `movable` return changed copies.

import type {AuditNotes} from '#src/api/audit.js';
import type {ApiBody, ApiRequest, ApiResponse} from '#src/api/request.js';
import type {Clock} from '#src/base/clock.js';
import type {UserInfo} from '#src/api/user.js';
import type {RequestInfo, ResourceTarget} from './request-info.js';
import {requestTimeout} from './timeout.js';

/** When a request arrived and how long it waited for others, by the monotonic clock. */
export interface RequestTimes {
  readonly startedAt: number;
  /** The time spent in admission webhooks; concurrent ones count once. */
  webhooksMs: number;
  /** The durations that audit events of slow requests contain. */
  mutatingWebhooksMs?: number;
  authenticationMs?: number;
  /** When impersonation began and ended, by the monotonic clock. */
  impersonation?: readonly [from: number, to: number];
  authorizationMs?: number;
  storageMs?: number;
  decodeMs?: number;
  transformMs?: number;
  serializationMs?: number;
  /** The time in which the client took the pages of a list. */
  responseWriteMs?: number;
  /** The time spent in a queue of flow control. */
  queueWaitMs?: number;
}

/** A request and its state in the request core. */
export interface RequestContext {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly auditId: string;
  readonly user: UserInfo;
  /** The texts of `Warning` headers, in order, without duplicates. */
  readonly warnings: Set<string>;
  /** Aborts when the client is gone or the deadline has passed. */
  readonly signal: AbortSignal;
  /** The deadline of outgoing calls of a write, by the monotonic clock. */
  readonly deadlineAt?: number | undefined;
  /**
   * The time by which the response must have been sent, by the monotonic clock; undefined for long-running requests.
   */
  readonly endsAt?: number | undefined;
  readonly times?: RequestTimes | undefined;
  /** Called by a watch when its initial state was sent, which flow control counts as its execution. */
  initialized?: (() => void) | undefined;
  /** Takes what the request's audit events contain; undefined if there are none. */
  readonly notes?: AuditNotes | undefined;
  /** Whether the request may be moved to another thread, which is possible until something was done for it. */
  readonly mayMove?: boolean;
  /** The same request with another body, which may be moved to another thread. */
  movableWith(body: ApiBody | undefined): RequestContext;
  /** The same request with another body. */
  withBody(body: ApiBody | undefined): RequestContext;
  /** Returns the same request with other request info. */
  withInfo(info: RequestInfo): RequestContext;
}

export interface ResourceContext extends RequestContext {
  readonly target: ResourceTarget;
}

/** The context of a request. Its construction computes nothing that most requests do not need. */
export class Context implements RequestContext {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly auditId: string;
  readonly user: UserInfo;
  readonly warnings: Set<string>;
  readonly times: RequestTimes | undefined;
  readonly deadlineAt: number | undefined;
  readonly endsAt: number | undefined;
  readonly notes: AuditNotes | undefined;
  mayMove = false;
  initialized: (() => void) | undefined = undefined;

  constructor(
    request: ApiRequest,
    info: RequestInfo,
    user: UserInfo,
    {
      auditId,
      warnings,
      times,
      deadlineAt,
      endsAt,
      notes,
    }: Pick<RequestContext, 'auditId' | 'warnings' | 'times' | 'deadlineAt' | 'endsAt' | 'notes'>,
  ) {
    this.request = request;
    this.info = info;
    this.auditId = auditId;
    this.user = user;
    this.warnings = warnings;
    this.times = times;
    this.deadlineAt = deadlineAt;
    this.endsAt = endsAt;
    this.notes = notes;
  }

  movableWith(body: ApiBody | undefined): Context {
    const context = this.withBody(body);
    context.mayMove = true;
    return context;
  }

  withBody(body: ApiBody | undefined): Context {
    return this.#with(body ? new RequestWithBody(this.request, body) : this.request, this.info);
  }

  withInfo(info: RequestInfo): Context {
    return this.#with(this.request, info);
  }

  #with(request: ApiRequest, info: RequestInfo): Context {
    const context = new Context(request, info, this.user, this);
    context.initialized = this.initialized;
    return context;
  }

  get signal(): AbortSignal {
    return this.request.signal;
  }

  /** Only for requests that name a resource. */
  get target(): ResourceTarget {
    return this.info.resource!;
  }
}

/** A request with another body. */
class RequestWithBody implements ApiRequest {
  readonly #request: ApiRequest;
  readonly body: ApiBody;

  constructor(request: ApiRequest, body: ApiBody) {
    this.#request = request;
    this.body = body;
  }

  get method(): string {
    return this.#request.method;
  }

  get url(): string {
    return this.#request.url;
  }

  get headers(): ApiRequest['headers'] {
    return this.#request.headers;
  }

  get caller(): ApiRequest['caller'] {
    return this.#request.caller;
  }

  get remoteAddress(): string {
    return this.#request.remoteAddress;
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }

  get sendsBytes(): boolean {
    return this.#request.sendsBytes === true;
  }

  get inProcess(): boolean {
    return this.#request.inProcess === true;
  }
}

/** Called by long work between its steps: throws when the client is gone or the deadline has passed. */
export const cancellationCheck =
  ({signal, endsAt}: Pick<RequestContext, 'signal' | 'endsAt'>, clock: Clock): (() => void) =>
  () => {
    if (signal.aborted || (endsAt !== undefined && clock.monotonic() >= endsAt)) throw requestTimeout();
  };

/** Handles a request. Throws a `StatusError` to refuse it; any other error becomes an internal error. */
export type Handler = (context: RequestContext) => ApiResponse | Promise<ApiResponse>;
