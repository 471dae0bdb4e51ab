import type {ApiResponse} from '#src/api/request.js';
import {plainFailure, serviceUnavailable} from '#src/api/status.js';
import type {Backend} from '#src/transport/relay/backends.js';
import {relayCall} from '#src/transport/relay/call.js';
import {canonical} from '#src/transport/relay/headers.js';
import {authority} from '#src/transport/relay/backends.js';
import {rewriteAnswer} from '#src/transport/relay/rewrite.js';
import {relayUpgrade} from '#src/transport/relay/upgrade.js';
import type {ResourceContext} from '#src/apiserver/request/context.js';
import type {ResourceServices} from './resource.js';

/** Characters of a path that are written as they are. */
const unescaped = /%(?:24|26|2B|2C|2F|3A|3B|3D|40)/g;

/** A path as it is put into a request: percent-encoded. */
export const escapedPath = (path: string): string =>
  encodeURIComponent(path)
    .replaceAll(unescaped, code => decodeURIComponent(code))
    .replaceAll(/[!'()*]/g, character => `%${character.codePointAt(0)!.toString(16).toUpperCase()}`);

/** Headers by which browsers are allowed things: only this server's own count. */
const removed = ['Credentials', 'Headers', 'Methods', 'Origin'].map(part => `Access-Control-Allow-${part}`);

/** Where a call leads: `before` is the path that stands for `/` there. */
export interface CallPath {
  readonly before: string;
  readonly path: string;
}

/** Passes a call on to whoever is there, and what he says back, with links that lead through here again. */
export const connectCall = async ({backends}: ResourceServices, to: Backend, {before, path}: CallPath, {request}: ResourceContext): Promise<ApiResponse> => {
  const query = request.url.indexOf('?');
  const relayed = {request, to, path: (path === '' ? '/' : escapedPath(path)) + (query < 0 ? '' : request.url.slice(query))};
  if (request.upgradable && request.headers['upgrade'] !== undefined) {
    return relayUpgrade(backends, relayed).catch((error: Error) => {
      throw plainFailure(error.message, error);
    });
  }
  const answer = await relayCall(backends, {...relayed, headers: {'x-forwarded-uri': escapedPath(before + path)}}).catch((error: Error) => {
    throw serviceUnavailable(`error trying to reach service: ${error.message}`);
  });
  for (const name of removed) delete answer.headers[canonical(name)];
  return rewriteAnswer(answer, {before, backend: authority(to), proxyHost: String(request.headers['host'] ?? '')});
};
