// The requests of a console, in this order: is it meant for this console (guard.ts), is it the page itself, does it
// redeem a link, has it a session, is it by the page; then it is answered here or relayed.

import type {ApiHandler, ApiRequest, ApiResponse} from '#src/api/request.js';
import {badRequest, forbidden, pathUnknown, serviceUnavailable, StatusError, unauthorized, methodNotAllowed} from '#src/api/status.js';
import {messageOf} from '#src/base/message.js';
import {cookieOf, foreignRequest, isByPage} from './guard.js';
import type {Forwards} from './forwards.js';
import type {Page} from './page.js';
import type {Session, Sessions} from './sessions.js';
import type {ConsoleTime} from './time.js';
import {isRelayed, relayedRequest, type Upstream} from './upstream.js';

export interface HandlerParts {
  readonly page: Page;
  readonly sessions: Sessions;
  readonly upstream: Upstream;
  /** What the page shows as the name of the cluster. */
  readonly server: string;
  readonly version: string;
  readonly time: ConsoleTime;
  readonly forwards: Forwards;
  /** The port, which tells the cookies of consoles on one host apart. */
  port(): number;
}

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

const ownHeaders = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/** What the API server says is data, even where it is opened as a page. */
const dataPolicy = "default-src 'none'; sandbox; frame-ancestors 'none'";

const json = (value: unknown, status = 200, headers: Record<string, string> = {}): ApiResponse => ({
  status,
  headers: {'Cache-Control': 'no-store', ...headers},
  body: {kind: 'bytes', bytes: `${JSON.stringify(value)}\n`, contentType: 'application/json'},
});

/** The length of a body of the console's own requests. */
const ownBodyBytes = 4 << 10;

const bodyOf = async ({body}: ApiRequest): Promise<Readonly<Record<string, unknown>>> => {
  if (body?.kind !== 'bytes') throw badRequest('the request has no body');
  const bytes = await body.read(ownBodyBytes);
  try {
    const value: unknown = JSON.parse(bytes.toString());
    if (typeof value === 'object' && value !== null) return value as Readonly<Record<string, unknown>>;
  } catch (cause) {
    throw badRequest('the body is not JSON', cause);
  }
  throw badRequest('the body is no object');
};

/** Answers the requests of the browser. Never rejects. */
export const consoleHandler = (parts: HandlerParts): ApiHandler => {
  const {page, sessions, upstream, server, version, time, forwards} = parts;
  const cookieName = (): string => `plat-console-${parts.port()}`;

  const redeemed = async (request: ApiRequest): Promise<ApiResponse> => {
    const {token} = await bodyOf(request);
    const cookie = typeof token === 'string' ? sessions.redeem(token) : undefined;
    if (cookie === undefined) throw unauthorized();
    return json({}, 200, {'Set-Cookie': `${cookieName()}=${cookie}; HttpOnly; SameSite=Strict; Path=/`});
  };

  const ended = (cookie: string): ApiResponse => {
    sessions.end(cookie);
    return json({}, 200, {'Set-Cookie': `${cookieName()}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0`});
  };

  const own = async (request: ApiRequest, path: string, session: Session, cookie: string): Promise<ApiResponse> => {
    const {method} = request;
    const answers: Readonly<Record<string, Readonly<Record<string, () => ApiResponse | Promise<ApiResponse>>>>> = {
      '/console/v1/session': {GET: () => json({csrf: session.csrf, server, version, time: time.kind}), DELETE: () => ended(cookie)},
      '/console/v1/time': {GET: () => json(time.state()), POST: async () => json(await time.act(await bodyOf(request)))},
      '/console/v1/forwards': {
        GET: () => json({forwards: forwards.list}),
        POST: async () => json(await forwards.add(await bodyOf(request)), 201),
        DELETE: async () => {
          await forwards.end(Number((await bodyOf(request))['local']));
          return json({});
        },
      },
    };
    const methods = Object.hasOwn(answers, path) ? answers[path]! : undefined;
    if (methods && Object.hasOwn(methods, method)) return methods[method]!();
    if (methods) throw methodNotAllowed({group: '', resource: 'console'}, method);
    throw pathUnknown();
  };

  const relay = async (request: ApiRequest): Promise<ApiResponse> => {
    const relayed = await relayedRequest(request);
    try {
      const response = await upstream(relayed);
      const {'Set-Cookie': _, 'set-cookie': __, ...headers} = response.headers;
      return {...response, headers: {...headers, 'Content-Security-Policy': dataPolicy}};
    } catch (error) {
      if (error instanceof StatusError || request.signal.aborted) throw error;
      throw serviceUnavailable(`the API server cannot be reached: ${messageOf(error)}`);
    }
  };

  const answer = async (request: ApiRequest): Promise<ApiResponse> => {
    const refusal = foreignRequest(request);
    if (refusal !== undefined) throw forbidden({group: '', resource: 'console'}, '', refusal);
    const path = request.url.split('?', 1)[0]!;
    const file = request.method === 'GET' ? page.response(request, path) : undefined;
    if (file) return {...file, headers: {...file.headers, 'Content-Security-Policy': policy}};
    if (path === '/console/v1/session' && request.method === 'POST') return redeemed(request);
    const cookie = cookieOf(request, cookieName());
    const session = cookie === undefined ? undefined : sessions.find(cookie);
    if (cookie === undefined || !session) throw unauthorized();
    if (!isByPage(request, session)) throw forbidden({group: '', resource: 'console'}, '', 'the request is not by the page of the console');
    if (path.startsWith('/console/')) return own(request, path, session, cookie);
    if (isRelayed(path)) return relay(request);
    throw pathUnknown();
  };

  return async request => {
    try {
      const response = await answer(request);
      return {...response, headers: {...ownHeaders, ...response.headers}};
    } catch (error) {
      const {status} = error instanceof StatusError ? error : serviceUnavailable(messageOf(error));
      return json(status, status.code ?? 500, {...ownHeaders, 'Content-Security-Policy': dataPolicy});
    }
  };
};
