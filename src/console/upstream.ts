// Which requests of the page go to the API server, and how: under its own paths, with the rights of the user who
// started the console, and with none of the headers that are between page and console.

import {bodyLimit, type ApiHandler, type ApiRequest, type ApiResponse} from '#src/api/request.js';
import type {UserInfo} from '#src/api/user.js';

/** Sends a request to the API server as the user of the console. Rejects if the server is not reached. */
export type Upstream = (request: ApiRequest) => Promise<ApiResponse>;

/** The API server of this process, for one of its users. */
export const upstreamInProcess =
  (handler: ApiHandler, user: UserInfo): Upstream =>
  request =>
    handler({...request, caller: {user}});

const roots = ['/api', '/apis', '/openapi', '/version', '/metrics', '/readyz', '/livez', '/healthz', '/recorder/v1'];

/** What is in no name, once it is decoded. */
const signs = ['/', '%', '\0'];

/** What servers take for a step in a path. */
const isDots = (text: string): boolean => text === '.' || text === '..';

/**
 * The decoded parts of a path; undefined if a server may take it for another path than it looks. A backslash that is
 * encoded is part of a name, as a ClusterRole may have it; one that is not is a slash to some.
 */
const partsOf = (path: string): readonly string[] | undefined => {
  const parts: string[] = [];
  if (path.includes('\\')) return undefined;
  for (const part of path.slice(1).split('/')) {
    try {
      parts.push(decodeURIComponent(part));
    } catch {
      return undefined;
    }
  }
  const isPlain = parts.every(
    (part, at) => (part !== '' || at === parts.length - 1) && !signs.some(sign => part.includes(sign)) && !part.split('\\').some(isDots),
  );
  return isPlain ? parts : undefined;
};

/**
 * Whether a path leads to a pod, a service or a node rather than to the API: what they answer would be a page of this
 * origin. Objects may be called so.
 */
const isProxied = (parts: readonly string[]): boolean => parts[0] === 'api' && [2, 4, 6].some(at => parts[at] === 'proxy');

/** Whether a path of the page is one of the API server. */
export const isRelayed = (path: string): boolean => {
  if (!roots.some(root => path === root || path.startsWith(`${root}/`))) return false;
  const parts = partsOf(path);
  return parts !== undefined && !isProxied(parts);
};

const passedHeaders = [
  'accept',
  'accept-encoding',
  'connection',
  'content-type',
  'sec-websocket-extensions',
  'sec-websocket-key',
  'sec-websocket-protocol',
  'sec-websocket-version',
  'upgrade',
];

/** For the agents of browsers, API servers indent what they answer, which doubles it. */
const userAgent = 'plat-console';

/** Servers refuse a watch over a WebSocket without an origin. That of the page is not theirs to know. */
const origin = 'http://localhost';

/** The parameter that stands for the header `Accept`, which a page cannot set on a WebSocket. */
const acceptParameter = 'console-accept';

/** The URL without the parameter of the console, and its value. */
const split = (url: string): {readonly url: string; readonly accept?: string} => {
  const start = url.indexOf('?');
  if (start < 0) return {url};
  const query = new URLSearchParams(url.slice(start + 1));
  const accept = query.get(acceptParameter);
  if (accept === null) return {url};
  query.delete(acceptParameter);
  return {url: `${url.slice(0, start)}?${query.toString()}`, accept};
};

/**
 * Returns the request as the API server gets it. Rejects with `RequestEntityTooLarge` if it has a longer body than any
 * server reads.
 */
export const relayedRequest = async (request: ApiRequest): Promise<ApiRequest> => {
  const {body} = request;
  const {url, accept} = split(request.url);
  const headers: Record<string, string | readonly string[] | undefined> = {'user-agent': userAgent};
  for (const name of passedHeaders) if (request.headers[name] !== undefined) headers[name] = request.headers[name];
  if (accept !== undefined) headers['accept'] = accept;
  if (request.upgradable) headers['origin'] = origin;
  const bytes = body && !request.upgradable && body.kind === 'bytes' ? await body.read(bodyLimit) : undefined;
  if (bytes) headers['content-length'] = String(bytes.length);
  return {
    method: request.method,
    url,
    headers,
    caller: request.caller,
    remoteAddress: request.remoteAddress,
    signal: request.signal,
    ...(bytes ? {body: {kind: 'bytes', read: async () => bytes, size: bytes.length}} : {}),
    ...(request.upgradable ? {upgradable: true} : {}),
    ...(request.sendsBytes ? {sendsBytes: true} : {}),
  };
};
