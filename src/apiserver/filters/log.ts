import {jsonText} from '#src/base/json/json.js';
import type {Attributes, Decision} from '#src/api/authorization.js';
import {formatDuration} from '#src/api/duration.js';
import {header, type ApiRequest, type ApiResponse} from '#src/api/request.js';
import type {Clock} from '#src/base/clock.js';
import {andThen} from '#src/base/eventually.js';
import {noLog, type Log, type LogFields} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {bodyText, urlText} from '#src/observe/body-text.js';
import {Unauthenticated} from '#src/serving/authenticators/union.js';
import type {RequestInfo} from '#src/apiserver/request/request-info.js';
import type {Filter} from './filter.js';
import type {Received} from './stages.js';

/** The logged length of texts that clients chose. */
const [longestUri, longestAgent, longestAuditId] = [2048, 256, 64];

/** What each verbosity adds: requests, reasons of refusals, bodies. */
const [requests, refusals, bodies] = [3, 4, 8];
const maxVerbosity = 10;

const verbOf = ({method}: ApiRequest, info: RequestInfo | undefined): string =>
  info?.verb === 'list' || info?.verb === 'watch' ? info.verb.toUpperCase() : method;
const uriOf = ({url}: ApiRequest): string => urlText(url).slice(0, longestUri);

/** A response and the data of its request; `startedAt` is by the monotonic clock. */
interface LoggedRequest {
  readonly response: ApiResponse;
  readonly auditId: string;
  readonly startedAt: number;
  /** What flow control adds. */
  flow?(): LogFields;
}

/** Resources whose objects contain secrets, tokens or keys, or grant access to them. */
const secret = new Set(['secrets', 'tokenreviews']);

const holdsSecrets = ({resource}: RequestInfo): boolean =>
  resource !== undefined && (secret.has(resource.resource) || resource.subresource === 'token');

/** The longest text about refused credentials, parts of which are claims of the client. */
const longestRefusal = 1000;

const refusalOf = (error: unknown): string => {
  const reasons = error instanceof Unauthenticated ? error.reasons : [];
  const text = reasons.length === 0 ? messageOf(error) : reasons.length === 1 ? reasons[0]! : `[${reasons.join(', ')}]`;
  return text.slice(0, longestRefusal);
};

/** Logs requests at higher verbosities. */
export const withLog =
  (log: RequestLog): Filter<Received, Received, ApiResponse> =>
  next =>
  received =>
    andThen(next(received), response => {
      const {request, info, auditId, times} = received;
      log.answered(request, info, {response, auditId, startedAt: times.startedAt, flow: () => received.flowLogFields?.() ?? {}});
      return response;
    });

/**
 * Logs requests: every response at verbosity 3 (`--vmodule=httplog=3` enables these alone), the reasons of refusals at
 * 4, bodies at 8 and, longer, at 9 and
 * 10. A watch is logged when it begins.
 */
export class RequestLog {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #http: Log;
  readonly #authentication: Log;
  readonly #authorization: Log;
  readonly #bodies = new WeakMap<ApiRequest, Buffer>();

  constructor(log: Log, clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
    this.#http = log.child({component: 'httplog'});
    this.#authentication = log.child({component: 'authentication'});
    this.#authorization = log.child({component: 'authorization'});
  }

  /** Returns the request to handle, which records its body if it will be logged. */
  track(request: ApiRequest): ApiRequest {
    return this.#http.v(bodies) === noLog ? request : this.#recordingBody(request);
  }

  notAuthenticated(path: string, error: unknown): void {
    const log = this.#authentication.v(refusals);
    if (log !== noLog) log.info({path, err: refusalOf(error)}, 'unable to authenticate the request');
  }

  denied({user, verb, path, resource}: Attributes, {decision, reason}: Decision): void {
    const log = this.#authorization.v(refusals);
    if (log !== noLog)
      log.info(
        {user: user.name, verb, path, resource: resource?.resource, namespace: resource?.namespace, name: resource?.name, decision, reason},
        'request is not allowed',
      );
  }

  answered(request: ApiRequest, info: RequestInfo | undefined, {response, auditId, startedAt, flow}: LoggedRequest): void {
    const requestLog = this.#http.v(requests);
    if (requestLog === noLog) return;
    const latency = formatDuration(Math.round((this.#clock.monotonic() - startedAt) * 1000) / 1000);
    const userAgent = (header(request, 'user-agent') ?? '').slice(0, longestAgent);
    requestLog.info(
      {
        verb: verbOf(request, info),
        URI: uriOf(request),
        latency,
        userAgent,
        'audit-ID': auditId.slice(0, longestAuditId),
        srcIP: request.remoteAddress,
        resp: response.status,
        ...flow?.(),
      },
      'HTTP',
    );
    if (this.#http.v(bodies) !== noLog) this.#logBodies(request, info, response);
  }

  #logBodies(request: ApiRequest, info: RequestInfo | undefined, {body}: ApiResponse): void {
    const log = this.#http.v(bodies);
    const sent = this.#bodies.get(request);
    const response = body.kind === 'bytes' ? body.bytes : body.kind === 'object' ? body.bytes() : undefined;
    const shown = (content: string | Buffer) => (info && holdsSecrets(info) ? '[redacted]' : bodyText(content, this.#verbosity()));
    if (sent?.length) log.info({verb: verbOf(request, info), URI: uriOf(request), body: shown(sent)}, 'request body');
    if (response?.length) log.info({verb: verbOf(request, info), URI: uriOf(request), body: shown(response)}, 'response body');
  }

  #verbosity(): number {
    for (let level = maxVerbosity; level > bodies; level -= 1) if (this.#http.v(level) !== noLog) return level;
    return bodies;
  }

  /** The same request, which records its body when it is read. */
  #recordingBody(request: ApiRequest): ApiRequest {
    const {method, url, headers, caller, remoteAddress, body, signal, upgradable, sendsBytes, inProcess} = request;
    if (!body) return request;
    const flags = {...(upgradable ? {upgradable} : {}), ...(sendsBytes ? {sendsBytes} : {}), ...(inProcess ? {inProcess} : {})};
    const own: ApiRequest = {
      method,
      url,
      headers,
      caller,
      remoteAddress,
      body: body.kind === 'bytes' ? recordingBody(body, content => void this.#bodies.set(own, content)) : body,
      signal,
      ...flags,
    };
    if (body.kind === 'object') this.#bodies.set(own, Buffer.from(jsonText(body.value)));
    return own;
  }
}

type Bytes = Extract<ApiRequest['body'], {kind: 'bytes'}>;

const recordingBody = (body: Bytes, note: (content: Buffer) => void): Bytes => ({
  kind: 'bytes',
  async read(limit) {
    const content = await body.read(limit);
    note(content);
    return content;
  },
  ...(body.stream ? {stream: () => body.stream!()} : {}),
  ...(body.observe ? {observe: reading => body.observe!(reading)} : {}),
});
