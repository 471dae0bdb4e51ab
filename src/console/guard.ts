// What a request must show before anything is looked at: it was meant for this console, by the page of this console.

import {timingSafeEqual} from 'node:crypto';
import {header, type ApiRequest} from '#src/api/request.js';
import {isLoopback} from '#src/base/ip-address.js';
import type {Session} from './sessions.js';

const safeMethods = new Set(['GET', 'HEAD']);

/** The host of `host:port`, without the brackets of an IPv6 address. */
const hostOf = (authority: string): string => {
  if (authority.startsWith('[')) return authority.slice(1, Math.max(1, authority.indexOf(']')));
  const colon = authority.indexOf(':');
  return colon < 0 ? authority : authority.slice(0, colon);
};

/**
 * Returns why a request is refused whatever it asks for. A page of another origin whose name was made to lead here has
 * its own name in `Host` (DNS rebinding); what it sends to this address names it in `Origin` and `Sec-Fetch-Site`.
 */
export const foreignRequest = (request: ApiRequest): string | undefined => {
  const host = header(request, 'host') ?? '';
  const name = hostOf(host);
  if (name !== 'localhost' && !isLoopback(name)) return 'the console is reached by a loopback address or localhost';
  const origin = header(request, 'origin');
  if (origin !== undefined && origin !== `http://${host}`) return 'the request comes from another page';
  const site = header(request, 'sec-fetch-site');
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return 'the request comes from another page';
  // Browsers state the page that opens a WebSocket or sends a form.
  const needsOrigin = request.upgradable === true || !safeMethods.has(request.method);
  return needsOrigin && origin === undefined ? 'the request does not say which page it comes from' : undefined;
};

/** The header with the secret of the page. */
const csrfHeader = 'x-plat-console';

/** Whether a request may change something, as far as its session allows it: others may only be made with its secret. */
export const isByPage = (request: ApiRequest, {csrf}: Session): boolean => {
  if (request.upgradable || safeMethods.has(request.method)) return true;
  const [given, known] = [Buffer.from(header(request, csrfHeader) ?? ''), Buffer.from(csrf)];
  return given.length === known.length && timingSafeEqual(given, known);
};

/** Returns the value of a cookie. */
export const cookieOf = (request: ApiRequest, name: string): string | undefined =>
  header(request, 'cookie')
    ?.split(';')
    .map(part => part.trim())
    .find(part => part.startsWith(`${name}=`))
    ?.slice(name.length + 1);
