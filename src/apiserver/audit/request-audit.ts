// The audit of one request: collects what its events contain while it is handled, and generates them at the stages that
// the policy asks for.

import {includes} from '#src/api/audit.js';
import type {Decision} from '#src/api/authorization.js';
import {formatDuration} from '#src/api/duration.js';
import type {ApiRequest, ApiResponse} from '#src/api/request.js';
import type {UserInfo} from '#src/api/user.js';
import type {RequestTimes} from '#src/apiserver/request/context.js';
import {isLongRunning, type RequestInfo} from '#src/apiserver/request/request-info.js';
import {AuditEvent, RequestText, type ImpersonatedUser, type ObjectReference, type ResponseStatus} from './event.js';
import {CollectedNotes} from './notes.js';
import type {Recording, Stage} from './policy.js';
import type {RequestAuditSettings} from './settings.js';
import {capture, GatheredPages, gathered, type ObjectForm} from './response-object.js';
import {sourceAddresses} from './source-addresses.js';
import {endOf, withEnd} from './stream-end.js';

/** User agents are cut at this length. */
const maxAgentLength = 1024;

/** The duration from which on an event shows what a request waited for, in ms. */
const slowMs = 500;

const agentOf = ({headers}: ApiRequest): string => {
  const agent = headers['user-agent'];
  const text = typeof agent === 'string' ? agent : (agent?.[0] ?? '');
  return text.length > maxAgentLength ? `${text.slice(0, maxAgentLength)}...TRUNCATED` : text;
};

export interface AuditedRequest {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly auditId: string;
  readonly times: RequestTimes;
}

/** The audit of a request that the policy records. */
export class RequestAudit {
  readonly notes: CollectedNotes;
  readonly #settings: RequestAuditSettings;
  readonly #audited: AuditedRequest;
  readonly #recording: Recording;
  readonly #text: RequestText;
  #impersonated: ImpersonatedUser | undefined;
  #status: ResponseStatus | undefined;
  #responseObject: Buffer | undefined;
  /** The events that the response waits for. */
  #pending: Promise<boolean> | undefined;
  #isOver = false;

  constructor(settings: RequestAuditSettings, audited: AuditedRequest, user: UserInfo | undefined, recording: Recording) {
    const {
      request,
      info: {verb},
      auditId,
      times: {startedAt},
    } = audited;
    const {clock} = settings;
    this.#settings = settings;
    this.#audited = audited;
    this.#recording = recording;
    this.notes = new CollectedNotes(recording);
    const facts = {
      auditId,
      level: recording.level,
      receivedAt: clock.now() - (clock.monotonic() - startedAt),
      uri: request.url,
      verb,
      user,
      sourceAddresses: sourceAddresses(request),
      userAgent: agentOf(request),
    };
    this.#text = new RequestText(facts, settings.apiVersion);
  }

  /** Generates the first event. Returns or resolves to whether the request may go on. */
  received(): boolean | Promise<boolean> {
    const taken = this.#emit('RequestReceived');
    if (this.#settings.sink.holdsRequest || typeof taken === 'boolean') return taken;
    this.#wait(taken);
    return true;
  }

  impersonated(user: UserInfo, constraint?: string): void {
    this.#impersonated = {user, constraint};
  }

  authorized({decision, reason = '', error}: Decision): void {
    if (decision !== 'allow' && error !== undefined) return this.notAuthorized();
    const {keys} = this.#settings;
    this.notes.annotate(keys.decision, decision === 'allow' ? 'allow' : 'forbid');
    this.notes.annotate(keys.reason, reason);
  }

  notAuthorized(): void {
    this.notes.annotate(this.#settings.keys.reason, 'internal error');
  }

  /** Generates the event of a request that was refused before its user was known. */
  refused(response: ApiResponse): ApiResponse | Promise<ApiResponse> {
    this.#status = statusOf(response);
    return this.#captured(response, () => this.#finish('ResponseStarted'));
  }

  /** Generates the event of a request that failed by a fault of the server. */
  panicked(response: ApiResponse, message: string): ApiResponse | Promise<ApiResponse> {
    this.#status = {code: response.status, status: 'Failure', reason: 'InternalError', message: `APIServer panic'd: ${message}`};
    this.#finish('Panic');
    return this.#after(response);
  }

  /** Generates the events of a response: at once, or when it ends. Returns the response to send. */
  responded(response: ApiResponse): ApiResponse | Promise<ApiResponse> {
    this.#status = statusOf(response);
    const complete = () => this.#finish('ResponseComplete');
    if (isLongRunning(this.#audited.info)) {
      this.#wait(this.#emit('ResponseStarted'));
      if (endOf(response)) return this.#after(withEnd(response, this.#audited.request.signal, complete));
    }
    const {body} = response;
    if (body.kind === 'pages') return this.#after({...response, body: this.#pages(body)});
    if (body.kind === 'stream') return this.#after(withEnd(response, this.#audited.request.signal, complete));
    return this.#captured(response, complete);
  }

  #form(): ObjectForm {
    return {omitsManagedFields: this.#recording.omitsManagedFields, clock: this.#settings.clock};
  }

  /** Whether events contain the response's object: not those of other paths. */
  get #wantsObject(): boolean {
    return includes(this.#recording.level, 'RequestResponse') && this.#audited.info.resource !== undefined;
  }

  /** Generates the last event once the object of the response is known. */
  #captured(response: ApiResponse, finish: () => void): ApiResponse | Promise<ApiResponse> {
    if (!this.#wantsObject) {
      finish();
      return this.#after(response);
    }
    if (this.notes.responseObject) {
      this.#responseObject = this.notes.responseObject;
      finish();
      return this.#after(response);
    }
    return capture(response.body, this.#form(), this.#audited.request.inProcess === true).then(
      ({body, object}) => {
        this.#responseObject = object;
        finish();
        return this.#after({...response, body});
      },
      () => {
        // What cannot be encoded fails again when it is sent.
        finish();
        return this.#after(response);
      },
    );
  }

  /** A list in pages, with which the request ends. Its last page waits for the event. */
  #pages(body: Extract<ApiResponse['body'], {kind: 'pages'}>): ApiResponse['body'] {
    const sent = this.#wantsObject && !this.#audited.request.inProcess && body.contentType === 'application/json';
    const pages = sent ? new GatheredPages(this.#form()) : undefined;
    const end = async (): Promise<void> => {
      if (this.#isOver) return;
      if (this.#wantsObject) await this.#gather(body, pages);
      this.#finish('ResponseComplete');
      await this.#pending;
    };
    const {asJson} = body;
    const {clock} = this.#settings;
    const {times} = this.#audited;
    let pageAt: number | undefined;
    return {
      kind: 'pages',
      contentType: body.contentType,
      ...(asJson ? {asJson: () => body.asJson!()} : {}),
      async next() {
        if (pageAt !== undefined) times.responseWriteMs = (times.responseWriteMs ?? 0) + clock.monotonic() - pageAt;
        const page = await body.next();
        pageAt = clock.monotonic();
        if (page) pages?.add(page);
        else await end();
        return page;
      },
      // Pages that are gathered are kept until the end.
      ...(pages || !body.reuse ? {} : {reuse: (page: Buffer) => body.reuse!(page)}),
      async object() {
        const object = await body.object();
        await end();
        return object;
      },
      close: () => {
        body.close();
        this.#finish('ResponseComplete');
      },
    };
  }

  async #gather(body: Extract<ApiResponse['body'], {kind: 'pages'}>, sent: GatheredPages | undefined): Promise<void> {
    let object = await sent?.object();
    let {isTooLong = false} = sent ?? {};
    if (!object && !isTooLong) {
      const pages = await gathered(body, this.#form());
      object = await pages.object();
      ({isTooLong} = pages);
    }
    this.#responseObject = object;
    if (isTooLong) this.notes.annotate(this.#settings.naming.groupKey('audit', 'truncated'), 'true');
  }

  /** Generates the last event; later calls do nothing. */
  #finish(stage: Stage): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#annotateLatency();
    this.#wait(this.#emit(stage));
  }

  #wait(taken: boolean | Promise<boolean>): void {
    if (typeof taken === 'boolean') return;
    const before = this.#settings.sink.holdsRequest ? this.#pending : undefined;
    this.#pending = before ? before.then(() => taken) : taken;
  }

  /** The response, once the events are taken. */
  #after(response: ApiResponse): ApiResponse | Promise<ApiResponse> {
    return this.#pending ? this.#pending.then(() => response) : response;
  }

  #emit(stage: Stage): boolean | Promise<boolean> {
    if (this.#recording.omitted.has(stage)) return true;
    const {sink, clock, metrics} = this.#settings;
    const {startedAt} = this.#audited.times;
    const {receivedAt} = this.#text.facts;
    metrics.generated();
    return sink.process([
      new AuditEvent({
        request: this.#text,
        stage,
        at: stage === 'RequestReceived' ? receivedAt : receivedAt + (clock.monotonic() - startedAt),
        impersonated: this.#impersonated,
        object: this.#reference(),
        status: this.#status,
        requestObject: this.notes.requestObject,
        responseObject: this.#responseObject,
        annotations: stage === 'ResponseStarted' ? new Map(this.notes.annotations) : this.notes.annotations,
      }),
    ]);
  }

  #reference(): ObjectReference | undefined {
    const target = this.#audited.info.resource;
    if (!target) return undefined;
    const {meta} = this.notes;
    const {resource, namespace, name, group, version, subresource} = target;
    return {
      resource,
      namespace: namespace || (meta?.namespace ?? ''),
      name: name || (meta?.name ?? ''),
      uid: meta?.uid,
      apiGroup: group,
      apiVersion: version,
      resourceVersion: meta?.resourceVersion,
      subresource: firstSegment(subresource),
    };
  }

  /** Adds what a slow request waited for. */
  #annotateLatency(): void {
    const {naming, clock} = this.#settings;
    const {times} = this.#audited;
    const totalMs = clock.monotonic() - times.startedAt;
    if (totalMs <= slowMs) return;
    const {
      webhooksMs,
      mutatingWebhooksMs = 0,
      authenticationMs = 0,
      authorizationMs = 0,
      storageMs = 0,
      decodeMs = 0,
      transformMs = 0,
      serializationMs = 0,
      responseWriteMs = 0,
      queueWaitMs = 0,
    } = times;
    const layers = {
      authentication: authenticationMs,
      authorization: authorizationMs,
      [naming.store]: storageMs,
      'decode-response-object': decodeMs,
      'transform-response-object': transformMs,
      // As upstream, with the writing that it alternates with.
      'serialize-response-object': serializationMs + responseWriteMs,
      'response-write': responseWriteMs,
      'mutating-webhook': mutatingWebhooksMs,
      'validating-webhook': webhooksMs - mutatingWebhooksMs,
      'apf-queue-wait': queueWaitMs,
    };
    const waited = Object.entries(layers).filter(([, ms]) => ms > 0);
    if (waited.length === 0) return;
    for (const [layer, ms] of [...waited, ['total', totalMs] as const])
      this.notes.annotate(`apiserver.latency.${naming.apiSuffix}/${layer}`, formatDuration(Math.round(ms * 1000) / 1000));
  }
}

const firstSegment = (path: string): string => {
  const end = path.indexOf('/');
  return end < 0 ? path : path.slice(0, end);
};

const statusOf = ({status, body, outcome}: ApiResponse): ResponseStatus => {
  const code = body.kind === 'upgrade' ? 101 : status;
  if (!outcome) return {code};
  const {status: result, message, reason, details} = outcome;
  return {
    code: outcome.code ?? code,
    ...(result ? {status: result} : {}),
    ...(message ? {message} : {}),
    ...(reason ? {reason} : {}),
    ...(details ? {details} : {}),
  };
};
