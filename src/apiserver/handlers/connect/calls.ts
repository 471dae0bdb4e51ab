import type {ApiResponse} from '#src/api/request.js';
import {plainFailure, serviceUnavailable} from '#src/api/status.js';
import {relayCall} from '#src/transport/relay/call.js';
import {canonical} from '#src/transport/relay/headers.js';
import {authority, type Target} from '#src/transport/dial.js';
import {rewriteResponse} from '#src/transport/relay/rewrite.js';
import {relayUpgrade} from '#src/transport/relay/upgrade.js';
import type {ResourceContext} from '#src/apiserver/request/context.js';
import type {ResourceServices} from '#src/apiserver/handlers/resource.js';

/** Characters of a path that are not escaped. */
const unescaped = /%(?:24|26|2B|2C|2F|3A|3B|3D|40)/g;

/** A path, percent-encoded for use in a request. */
export const escapedPath = (path: string): string =>
  encodeURIComponent(path)
    .replaceAll(unescaped, code => decodeURIComponent(code))
    .replaceAll(/[!'()*]/g, character => `%${character.codePointAt(0)!.toString(16).toUpperCase()}`);

/** CORS headers of the backend are removed: only this server's own apply. */
const removed = ['Credentials', 'Headers', 'Methods', 'Origin'].map(part => `Access-Control-Allow-${part}`);

/** The destination of a call: `before` is the path that is mapped to `/`. */
export interface CallPath {
  readonly before: string;
  readonly path: string;
}

/** Relays a call to a backend and its response, with links rewritten so that they go through this server. */
export const connectCall = async (
  {backends, connectBytesPerSecond: bytesPerSecond}: ResourceServices,
  to: Target,
  {before, path}: CallPath,
  {request}: ResourceContext,
): Promise<ApiResponse> => {
  const query = request.url.indexOf('?');
  const relayed = {
    request,
    to,
    path: (path === '' ? '/' : escapedPath(path)) + (query < 0 ? '' : request.url.slice(query)),
    bytesPerSecond,
  };
  if (request.upgradable && request.headers['upgrade'] !== undefined) {
    return relayUpgrade(backends, relayed).catch((error: Error) => {
      throw plainFailure(error.message, error);
    });
  }
  const response = await relayCall(backends, {...relayed, headers: {'x-forwarded-uri': escapedPath(before + path)}}).catch(
    (error: Error) => {
      throw serviceUnavailable(`error trying to reach service: ${error.message}`);
    },
  );
  for (const name of removed) delete response.headers[canonical(name)];
  return rewriteResponse(response, {before, backend: authority(to), proxyHost: String(request.headers['host'] ?? '')});
};
