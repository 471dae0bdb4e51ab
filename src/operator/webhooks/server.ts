// The HTTPS server of webhooks.

import {parseDuration} from '#src/api/duration.js';
import type {ApiHandler, ApiRequest, ApiResponse} from '#src/api/request.js';
import {
  badRequest,
  internalError,
  methodNotAllowed,
  StatusError,
  timeout as timedOut,
  tooManyRequests,
  type Status,
} from '#src/api/status.js';
import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {encodedInSteps} from '#src/base/json/json-text-steps.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import {firstOf, unlessAborted} from '#src/base/signals.js';
import {runStepsYielding} from '#src/base/steps.js';
import {Yielder} from '#src/base/turn.js';
import {notFoundPage, text} from '#src/serving/administration/route.js';
import {peerOf} from '#src/serving/limits/connection-limit.js';
import {Deliveries} from '#src/serving/deliveries.js';
import {createHttpServer} from '#src/serving/http-server.js';
import {IncomingBodies, IncomingBody} from '#src/serving/limits/incoming-bodies.js';
import {listen, type Listener} from '#src/serving/listener.js';
import {pathOf, answerReview, type AdmissionWebhook, type Webhook} from './admission.js';
import {accessPaths, answerAccessReview, isAccessWebhook, type AccessWebhook} from './access-reviews.js';
import type {FollowedCertificate} from './certificates.js';
import {conversionPath, answerConversion, type ConversionWebhook} from './conversion.js';
import {failureCount, WebhookMetrics} from './metrics.js';
import {ReceivedReview} from './received-review.js';

export interface WebhookServerParts {
  readonly webhooks: readonly Webhook[];
  readonly certificate: FollowedCertificate;
  readonly bindAddress: string;
  readonly port: number;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
}

/** The maximum body sizes: an admission review contains two objects, a conversion review many. */
const admissionLimit = 7 * 1024 * 1024;
const conversionLimit = 64 * 1024 * 1024;
/** A token, or the attributes of a request. */
const accessLimit = 1024 * 1024;
/**
 * The maximum number of requests in flight, with complete bodies; further ones are rejected with 429. Together with the
 * limits of bodies this limits memory.
 */
const maxInFlight = 50;
const maxConversions = 2;
/** The maximum total size of bodies being received and of responses not yet read: several of the largest. */
const waitingBytes = 64 << 20;
const waitingBytesOfConversions = 160 << 20;
/**
 * Connection limits: API servers use a few connections with many requests each, and probes some more; but everything in
 * the cluster can connect.
 */
const maxConnections = 500;
const maxStreamsPerConnection = 250;
/** The maximum duration of a request, unless its caller sets a shorter one. */
const longestMs = 30_000;

/** Returns the response to a body. */
interface Route {
  readonly limit: number;
  readonly metrics: WebhookMetrics;
  /** Reserves a place in flight. Throws 429 if there is none. */
  enter(): Disposable;
  respond(received: ReceivedReview, signal: AbortSignal): Promise<{readonly review: object; readonly code: number}>;
}

/**
 * Opens the port of the webhooks. Rejects with a one-line error if it cannot be opened; throws a `TypeError` for two
 * webhooks with the same path.
 */
export const openWebhooks = async (parts: WebhookServerParts): Promise<Listener> => {
  const {certificate, clock, random, log, bindAddress, port} = parts;
  const failed = (error: unknown) => log.error({err: error}, 'a webhook failed');
  const routes = routesOf(parts);
  const maxBytes = routes.has(conversionPath) ? waitingBytesOfConversions : waitingBytes;
  const context = () => ({cert: certificate.current().certificate, key: certificate.current().key, minVersion: 'TLSv1.2' as const});
  const listener = await listen({
    clock,
    bindAddress,
    port,
    tls: context(),
    handler: createHttpServer(handlerOf(routes, parts, new IncomingBodies(maxBytes, tooMany)), {
      clock,
      random,
      deliveries: new Deliveries(clock, maxBytes),
      onFault: failed,
    }),
    maxHeaderBytes: 64 * 1024,
    maxConnections,
    maxStreamsPerConnection,
    flags: '--webhook-bind-address',
  });
  certificate.onChange(() => listener.setSecureContext(context()));
  return listener;
};

const routesOf = (parts: WebhookServerParts): ReadonlyMap<string, Route> => {
  const {webhooks, naming, clock, meter, log} = parts;
  const routes = new Map<string, Route>();
  const route = (path: string, limit: number, most: number, respond: Route['respond']) =>
    void routes.set(path, {limit, ...placesOf(most), metrics: new WebhookMetrics(meter, clock, path), respond});
  const failures = failureCount(meter);
  const conversions = webhooks.filter((webhook): webhook is ConversionWebhook => webhook.type === 'converting');
  for (const webhook of webhooks) {
    if (webhook.type === 'converting') continue;
    const path = isAccessWebhook(webhook) ? accessPaths[webhook.type] : pathOf(webhook as AdmissionWebhook, naming);
    if (routes.has(path)) throw new TypeError(twiceServed(webhook, path));
    const failed = (error: unknown): void => {
      failures.add();
      log.error({webhook: path, err: error}, 'a webhook failed, denying the request');
    };
    if (isAccessWebhook(webhook)) route(path, accessLimit, maxInFlight, accessResponder(webhook, failed));
    else route(path, admissionLimit, maxInFlight, admissionResponder(webhook as AdmissionWebhook, failed));
  }
  if (conversions.length > 0)
    route(conversionPath, conversionLimit, maxConversions, async received => {
      const {review, error} = await answerConversion(conversions, received);
      if (error !== undefined) log.error({webhook: conversionPath, err: error}, 'a conversion failed');
      return {review, code: error === undefined ? 200 : 500};
    });
  return routes;
};

const twiceServed = (webhook: Webhook, path: string): string =>
  isAccessWebhook(webhook)
    ? `there are two ${webhook.type} webhooks`
    : `there are two ${webhook.type} webhooks of ${webhook.kind.kind} with the path ${path}: give one of them the option name`;

const admissionResponder =
  (webhook: AdmissionWebhook, report: (error: unknown) => void): Route['respond'] =>
  (received, signal) => {
    const failed = (error: unknown): Partial<Status> => {
      if (error instanceof StatusError) return error.status;
      report(error);
      return {code: 500, message: 'the webhook failed on this request: see the log of the operator'};
    };
    return answerReview(webhook, received, {signal, failed});
  };

const accessResponder =
  (webhook: AccessWebhook, report: (error: unknown) => void): Route['respond'] =>
  async (received, signal) => {
    const {review, error} = await answerAccessReview(webhook, received, signal);
    if (error !== undefined) report(error);
    return {review, code: error === undefined ? 200 : 500};
  };

const tooMany = () => tooManyRequests('too many requests to this webhook are in progress', 1);

const placesOf = (most: number): Pick<Route, 'enter'> => {
  let taken = 0;
  return {
    enter() {
      if (taken >= most) throw tooMany();
      taken++;
      return {[Symbol.dispose]: () => void taken--};
    },
  };
};

const handlerOf = (routes: ReadonlyMap<string, Route>, parts: WebhookServerParts, bodies: IncomingBodies): ApiHandler => {
  const pieces = new Yielder(parts.clock);
  return async request => {
    const [path = ''] = request.url.split('?', 1);
    const route = routes.get(path);
    if (!route) return path === '/healthz' ? text('ok') : notFoundPage();
    const ended = route.metrics.begun();
    let code = 500;
    try {
      const answer = await answered(route, request, pieces, {...parts, bodies});
      code = answer.code;
      return text(await runStepsYielding(encodedInSteps(answer.review), pieces), 200, 'application/json');
    } catch (error) {
      const refusal = error instanceof StatusError ? error : internalError(new Error('the webhook failed'));
      if (refusal !== error) parts.log.error({webhook: path, err: error}, 'a webhook failed');
      code = refusal.code;
      return failure(refusal);
    } finally {
      ended(code);
    }
  };
};

interface AnswerParts extends WebhookServerParts {
  readonly bodies: IncomingBodies;
}

/**
 * Answers a request. Its timeout starts with the headers; it counts as in flight from the last byte of its body on, so
 * that slow bodies delay no others.
 */
const answered = async (route: Route, request: ApiRequest, pieces: Yielder, {clock, bodies}: AnswerParts) => {
  if (request.method !== 'POST') throw methodNotAllowed({group: '', resource: ''}, request.method.toLowerCase());
  const {body} = request;
  if (body?.kind !== 'bytes') throw badRequest('a review is required');
  const timeout = new AbortController();
  const wanted = parseDuration(new URL(request.url, 'https://webhooks').searchParams.get('timeout') ?? '');
  const ms = Math.min(wanted && wanted > 0 ? wanted : longestMs, longestMs);
  const late = timedOut(`the webhook did not answer within ${ms} ms`);
  using place = bodies.follow(body, {user: peerOf(request.remoteAddress), enter: () => route.enter()});
  using _ = clock.schedule(ms, () => {
    if (place instanceof IncomingBody) place.stop(late);
    timeout.abort(late);
  });
  using either = firstOf(request.signal, timeout.signal);
  const received = new ReceivedReview(await body.read(route.limit), pieces);
  return await unlessAborted(route.respond(received, either.signal), either.signal);
};

const failure = ({status}: StatusError): ApiResponse => text(`${JSON.stringify(status)}\n`, status.code ?? 500, 'application/json');
