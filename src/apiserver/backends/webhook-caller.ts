// Calls webhooks: locates them, verifies their certificates, authenticates to them, reuses connections, and words
// failures as upstream does. It does not know what a review contains; admission and conversion check the responses.

import {encodedInSteps} from '#src/base/json/json-text-steps.js';
import {aborted} from '#src/base/signals.js';
import {runStepsYielding} from '#src/base/steps.js';
import {Yielder} from '#src/base/turn.js';
import {posix} from 'node:path';
import {StatusError} from '#src/api/status.js';
import {sleep, type Clock} from '#src/base/clock.js';
import {noLog, type Log} from '#src/base/log.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {traceHeaders} from '#src/base/span.js';
import {Lru} from '#src/base/lru.js';
import {CallLog} from '#src/transport/call-log.js';
import {dialer, type Dial, type TargetTls} from '#src/transport/dial.js';
import {endpoint, systemNetwork} from '#src/transport/network.js';
import {BrokenResponse, callsTo, CallAborted, type CallResult, type KeepAliveCalls} from '#src/transport/http1/calls.js';
import type {ClientPair} from '#src/transport/request-credentials.js';
import {readAnchors} from '#src/transport/tls-handshake.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import {YamlReader} from '#src/schema/decode/yaml-reader.js';
import {ResponseBudget} from './response-budget.js';
import {responseObject, type Parsing} from './response.js';
import {serviceServerName, type ServiceReference, type ServiceResolver} from './service-resolver.js';
import {anonymousCaller, type Credentials, type WebhookUsers} from './webhook-users.js';

/** The location of a webhook: a URL or a service. */
export interface WebhookLocation {
  readonly url?: string | undefined;
  readonly service?:
    | {readonly namespace: string; readonly name: string; readonly path?: string | undefined; readonly port?: number | undefined}
    | undefined;
  /** The CAs of its certificate: PEM in base64. */
  readonly caBundle?: string | undefined;
}

/** The failure of a call: no response, or one that is not an object. */
export class WebhookFailure extends Error {
  /** The status of the webhook's refusal, if there was one. */
  readonly status: StatusError | undefined;
  /** Whether the caller aborted the call. */
  readonly isCanceled: boolean;
  /** Whether the call was not attempted because of a wrong configuration. */
  readonly isMisconfigured: boolean;

  constructor(
    message: string,
    {
      cause,
      status,
      isMisconfigured = false,
    }: {readonly cause: unknown; readonly status?: StatusError | undefined; readonly isMisconfigured?: boolean},
  ) {
    super(message, {cause});
    this.status = status;
    this.isCanceled = cause instanceof CallAborted && cause.isCanceled;
    this.isMisconfigured = isMisconfigured;
  }
}

export interface CallOptions {
  /** The time limit of the whole call. The webhook receives it in seconds, rounded up. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** The size limit of the response; by default that for an object of the largest size. */
  readonly maxBytes?: number | undefined;
  /** The limit of values in the response. */
  readonly maxValues?: number | undefined;
}

/** Calls webhooks with an object and returns the object of the response. */
export interface WebhookCaller {
  /** Rejects with a `WebhookFailure`. */
  call(location: WebhookLocation, review: object, options: CallOptions): Promise<PlainObject>;
  /** Closes all connections. */
  close(): void;
}

export interface WebhookCallerParts {
  readonly clock: Clock;
  /** The log of calls, if enabled. */
  readonly log?: Log | undefined;
  /** Opens connections; by default over this machine's network. */
  readonly dial?: Dial;
  readonly resolve: ServiceResolver;
  readonly userAgent: string;
  /** The bytes of responses that all callers of a server hold together; a budget of its own by default. */
  readonly budget?: ResponseBudget;
  /** The credentials for webhooks, by host; none by default. */
  readonly users?: WebhookUsers | undefined;
  /** In-process calls for services that refer to this server itself. */
  readonly self?: {readonly calls: KeepAliveCalls; is(reference: ServiceReference): boolean} | undefined;
  /** The client certificate for webhooks that request one, unless a user is configured. */
  clientPair?(): ClientPair | undefined;
}

/** The number of webhooks whose connections are cached. */
const maxWebhooks = 200;
/** The estimated memory of one webhook's connections. */
const webhookBytes = 64 << 10;
const bound = new CacheBound('webhook_clients', 32 << 20);
/** The default size limit of responses: an object of the largest size, as a patch of it in base64. */
const maxResponseBytes = 8 * 1024 * 1024;
/** The default limit of values in a response; a patch in base64 is one value. */
const maxResponseValues = 50_000;
const maxRetries = 10;

/** A webhook that is ready to be called. */
interface Webhook {
  readonly calls: KeepAliveCalls;
  readonly host: string;
  readonly path: string;
  readonly credentials: Credentials;
}

/** The dependencies of one call. */
interface Calling {
  readonly clock: Clock;
  readonly userAgent: string;
  readonly budget: ResponseBudget;
  readonly yaml: YamlReader;
}

export const webhookCaller = (parts: WebhookCallerParts): WebhookCaller => {
  const {clock, userAgent, log = noLog, budget = new ResponseBudget()} = parts;
  const calling: Calling = {clock, userAgent, budget, yaml: new YamlReader(clock)};
  const calls = new CallLog(log, clock);
  const closing = new AbortController();
  const kept = new Lru<string, Promise<Webhook>>(bound, {
    bytesOf: () => webhookBytes,
    maxEntries: maxWebhooks,
    onEvict: webhook =>
      void webhook.then(
        ({calls}) => calls.close(),
        () => undefined,
      ),
  });
  const webhookAt = (location: WebhookLocation): Promise<Webhook> => {
    const key = JSON.stringify([location.url, location.service, location.caBundle]);
    let known = kept.get(key);
    if (!known) {
      kept.set(key, (known = open(location, parts)));
      known.catch(() => kept.delete(key));
    }
    return known;
  };
  return {
    async call(location, review, options) {
      const webhook = await webhookAt(location).catch((cause: unknown) => {
        throw new WebhookFailure((cause as Error).message, {cause, isMisconfigured: true});
      });
      const signal = options.signal ? AbortSignal.any([options.signal, closing.signal]) : closing.signal;
      return post(reasonOf(webhook, calls), review, {...options, signal}, calling, clock.monotonic() + options.timeoutMs);
    },
    close() {
      closing.abort(aborted);
      kept.clear();
    },
  };
};

/** The webhook, whose calls are logged without their path: to some receivers it proves who knows it. */
const reasonOf = (webhook: Webhook, log: CallLog): Webhook => ({
  ...webhook,
  calls: {
    send: call =>
      log.run(
        () => ({method: call.method, url: `https://${call.host}/[redacted]`, headers: Object.entries(call.headers), body: call.body}),
        () => webhook.calls.send({...call, headers: {...call.headers, ...Object.fromEntries(traceHeaders())}}),
        response => response,
      ),
    close: () => webhook.calls.close(),
  },
});

const hostOfUrl = (url: string): string => /^[a-z]+:\/\/([^/?#]*)/i.exec(url)?.[1] ?? '';

const cleanPath = (path: string): string => {
  const joined = posix.join('/', path);
  return joined.length > 1 && joined.endsWith('/') ? joined.slice(0, -1) : joined;
};

/** Prepares the calls of a webhook. Rejects if its configuration is wrong. */
const open = async (
  {url, service, caBundle}: WebhookLocation,
  {clock, dial = dialer(systemNetwork(clock), clock), resolve, users, clientPair, self}: WebhookCallerParts,
): Promise<Webhook> => {
  const anchors = caBundle ? readAnchors(Buffer.from(caBundle, 'base64').toString()) : undefined;
  const tls = ({pair = clientPair?.()}: Credentials): TargetTls => ({anchors, pair});
  if (service) {
    const {port = 443} = service;
    const serverName = serviceServerName(service);
    const host = `${serverName}:${port}`;
    if (self?.is({namespace: service.namespace, name: service.name, port}))
      return {calls: self.calls, host, path: cleanPath(service.path ?? ''), credentials: anonymousCaller};
    const credentials = await (users?.(host) ?? anonymousCaller);
    const at = {scheme: 'https', host: serverName, port: String(port)} as const;
    // The service is resolved for each connection.
    const located: Dial = async target => {
      const address = await resolve({namespace: service.namespace, name: service.name, port});
      return dial({...target, addresses: [address.host], port: String(address.port), tls: tls(credentials)});
    };
    return {calls: callsTo(at, {dial: located, clock}), host, path: cleanPath(service.path ?? ''), credentials};
  }
  if (!url) throw new Error('webhook configuration must have either service or URL');
  if (!URL.canParse(url)) throw new Error(`Unparsable URL: parse ${JSON.stringify(url)}: invalid`);
  const {hostname, port, pathname} = new URL(url);
  const host = hostOfUrl(url);
  const bare = hostname.replace(/^\[(.*)\]$/, '$1');
  const number = Number(port || 443);
  const credentials = await (users?.(endpoint(bare, number)) ?? anonymousCaller);
  const at = {scheme: 'https', host: bare, port: String(number)} as const;
  const direct: Dial = target => dial({...target, tls: tls(credentials)});
  return {calls: callsTo(at, {dial: direct, clock}), host, path: cleanPath(pathname), credentials};
};

/** Posts a review, and retries if the webhook asks for it by `Retry-After`. */
const post = async (
  {calls, host, path, credentials}: Webhook,
  review: object,
  {timeoutMs, signal, maxBytes = maxResponseBytes, maxValues = maxResponseValues}: CallOptions,
  {clock, userAgent, budget, yaml}: Calling,
  deadline: number,
): Promise<PlainObject> => {
  const target = `${path}?timeout=${Math.ceil(timeoutMs / 1000)}s`;
  const pieces = new Yielder(clock);
  const body = await runStepsYielding(encodedInSteps(review), pieces);
  for (let retries = 0; ; retries++) {
    using held = budget.hold();
    let response: CallResult;
    try {
      const headers = {
        'User-Agent': userAgent,
        Accept: 'application/json, */*',
        'Content-Type': 'application/json',
        ...(await credentials.headers()),
      };
      response = await calls.send({
        method: 'POST',
        host,
        path: target,
        headers,
        body,
        timeoutMs: deadline - clock.monotonic(),
        signal,
        maxBytes,
        onBytes: held.add,
        // Reviews may be repeated: a webhook is also called again for other reasons, such as reinvocation.
        isRepeatable: true,
      });
    } catch (cause) {
      const reason = (cause as Error).message;
      throw new WebhookFailure(cause instanceof BrokenResponse ? reason : `Post ${JSON.stringify(`https://${host}${target}`)}: ${reason}`, {
        cause,
      });
    }
    const waitMs = retries < maxRetries ? retryAfterMs(response) : undefined;
    if (waitMs === undefined) return await objectOf(response, {maxValues, pieces, yaml});
    if (clock.monotonic() + waitMs >= deadline)
      throw new WebhookFailure(`Post ${JSON.stringify(`https://${host}${target}`)}: context deadline exceeded`, {
        cause: new CallAborted(false),
      });
    held[Symbol.dispose]();
    if (waitMs > 0) await sleep(clock, waitMs, signal);
  }
};

const objectOf = async (response: CallResult, parsing: Parsing): Promise<PlainObject> => {
  try {
    return await responseObject(response, parsing);
  } catch (cause) {
    throw new WebhookFailure((cause as Error).message, {cause, status: cause instanceof StatusError ? cause : undefined});
  }
};

/** Returns the wait in ms that an overloaded server asks for by `Retry-After`. */
const retryAfterMs = ({status, header}: CallResult): number | undefined => {
  const seconds = status === 429 || status >= 500 ? header('retry-after') : undefined;
  return seconds !== undefined && /^\d+$/.test(seconds) ? Number(seconds) * 1000 : undefined;
};
