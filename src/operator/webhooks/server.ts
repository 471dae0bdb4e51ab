// The HTTPS port of webhooks.

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
import {runStepsInPieces} from '#src/base/steps.js';
import {Pieces} from '#src/base/turn.js';
import {notFoundPage, text} from '#src/serving/administration/route.js';
import {createHttpServer} from '#src/serving/http-server.js';
import {listen, type Listener} from '#src/serving/listener.js';
import {pathOf, reviewed, type AdmissionWebhook, type Webhook} from './admission.js';
import type {FollowedCertificate} from './certificates.js';
import {conversionPath, converted, type ConversionWebhook} from './conversion.js';
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

/** The longest bodies: an admission review holds two objects, a conversion review many. */
const admissionLimit = 7 * 1024 * 1024;
const conversionLimit = 64 * 1024 * 1024;
/** The most requests in progress; further ones are refused with 429. With the limits of bodies, that bounds the memory they take. */
const maxInFlight = 50;
const maxConversions = 2;
/** The longest time that a request may take, unless its caller sets a shorter one. */
const longestMs = 30_000;

/** Answers the body of a request. */
interface Route {
  readonly limit: number;
  readonly maxInFlight: number;
  readonly metrics: WebhookMetrics;
  inFlight: number;
  respond(received: ReceivedReview, signal: AbortSignal): Promise<{readonly review: object; readonly code: number}>;
}

/** Opens the port of the webhooks. Rejects with an error of one line if it cannot be opened, and throws a `TypeError` for two webhooks of one path. */
export const openWebhooks = async (parts: WebhookServerParts): Promise<Listener> => {
  const {certificate, clock, random, log, bindAddress, port} = parts;
  const failed = (error: unknown) => log.error({err: error}, 'a webhook failed');
  const routes = routesOf(parts);
  const context = () => ({cert: certificate.current().certificate, key: certificate.current().key, minVersion: 'TLSv1.2' as const});
  const listener = await listen({
    clock,
    bindAddress,
    port,
    tls: context(),
    handler: createHttpServer(handlerOf(routes, parts), {clock, random, onFault: failed}),
    maxHeaderBytes: 64 * 1024,
    flags: '--webhook-bind-address',
  });
  certificate.onChange(() => listener.setSecureContext(context()));
  return listener;
};

const routesOf = ({webhooks, naming, clock, meter, log}: WebhookServerParts): ReadonlyMap<string, Route> => {
  const routes = new Map<string, Route>();
  const route = (path: string, limit: number, most: number, respond: Route['respond']) =>
    void routes.set(path, {limit, maxInFlight: most, inFlight: 0, metrics: new WebhookMetrics(meter, clock, path), respond});
  const failures = failureCount(meter);
  for (const webhook of webhooks) {
    if (webhook.type === 'converting') continue;
    const admission = webhook as AdmissionWebhook;
    const path = pathOf(admission, naming);
    if (routes.has(path)) throw new TypeError(`there are two ${webhook.type} webhooks of ${webhook.kind.kind}`);
    const failed = (error: unknown): Partial<Status> => {
      if (error instanceof StatusError) return error.status;
      failures.add();
      log.error({webhook: path, err: error}, 'a webhook failed on a request, which is denied');
      return {code: 500, message: 'the webhook failed on this request: see the log of the operator'};
    };
    route(path, admissionLimit, maxInFlight, (received, signal) => reviewed(admission, received, {signal, failed}));
  }
  const conversions = webhooks.filter((webhook): webhook is ConversionWebhook => webhook.type === 'converting');
  if (conversions.length > 0)
    route(conversionPath, conversionLimit, maxConversions, async received => {
      const {review, error} = await converted(conversions, received);
      if (error !== undefined) log.error({webhook: conversionPath, err: error}, 'a conversion failed');
      return {review, code: error === undefined ? 200 : 500};
    });
  return routes;
};

const handlerOf = (routes: ReadonlyMap<string, Route>, parts: WebhookServerParts): ApiHandler => {
  const pieces = new Pieces(parts.clock);
  return async request => {
    const [path = ''] = request.url.split('?', 1);
    const route = routes.get(path);
    if (!route) return path === '/healthz' ? text('ok') : notFoundPage();
    if (route.inFlight >= route.maxInFlight) return failure(tooManyRequests('too many requests to this webhook are in progress', 1));
    route.inFlight++;
    const ended = route.metrics.begun();
    let code = 500;
    try {
      const answer = await answered(route, request, pieces, parts);
      code = answer.code;
      return text(await runStepsInPieces(encodedInSteps(answer.review), pieces), 200, 'application/json');
    } catch (error) {
      const refusal = error instanceof StatusError ? error : internalError(new Error('the webhook failed'));
      if (refusal !== error) parts.log.error({webhook: path, err: error}, 'a webhook failed');
      code = refusal.code;
      return failure(refusal);
    } finally {
      route.inFlight--;
      ended(code);
    }
  };
};

const answered = async (route: Route, request: ApiRequest, pieces: Pieces, {clock}: WebhookServerParts) => {
  if (request.method !== 'POST') throw methodNotAllowed({group: '', resource: ''}, request.method.toLowerCase());
  const {body} = request;
  if (body?.kind !== 'bytes') throw badRequest('a review is required');
  const received = new ReceivedReview(await body.read(route.limit), pieces);
  const timeout = new AbortController();
  const wanted = parseDuration(new URL(request.url, 'https://webhooks').searchParams.get('timeout') ?? '');
  const ms = Math.min(wanted && wanted > 0 ? wanted : longestMs, longestMs);
  using _ = clock.schedule(ms, () => timeout.abort(timedOut(`the webhook did not answer within ${ms} ms`)));
  using either = firstOf(request.signal, timeout.signal);
  return await unlessAborted(route.respond(received, either.signal), either.signal);
};

const failure = ({status}: StatusError): ApiResponse => text(`${JSON.stringify(status)}\n`, status.code ?? 500, 'application/json');
