import {promisify} from 'node:util';
import {constants, gzip} from 'node:zlib';
import type {ApiRequest, ApiResponse} from '#src/api/exchange.js';
import {acceptsGzip} from './http-headers.js';

/** Bodies up to this size are sent as they are. */
const smallestBytes = 128 << 10;

const deflate = promisify(gzip);

/** The response with its body compressed when that pays and the caller takes it. Streams are left alone. */
export const compressed = (request: ApiRequest, response: ApiResponse): ApiResponse | Promise<ApiResponse> => {
  const {body} = response;
  if (body.kind === 'empty' || body.kind === 'watch' || request.method === 'HEAD') return response;
  const bytes = body.kind === 'object' ? body.bytes() : body.bytes;
  if (bytes.length <= smallestBytes || response.headers['Content-Encoding'] !== undefined || !acceptsGzip(request.headers['accept-encoding'])) return response;
  return deflate(bytes, {level: constants.Z_BEST_SPEED}).then(packed => ({
    status: response.status,
    headers: {...response.headers, 'Content-Encoding': 'gzip', Vary: vary(response.headers['Vary'])},
    body: {kind: 'bytes', bytes: packed, contentType: body.contentType},
  }));
};

const vary = (before: string | string[] | undefined): string => (before === undefined ? 'Accept-Encoding' : `${String(before)}, Accept-Encoding`);
