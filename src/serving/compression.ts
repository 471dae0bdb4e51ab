import {promisify} from 'node:util';
import {pipeline} from 'node:stream';
import {constants, createGzip, gzip} from 'node:zlib';
import {pagesOf, type ApiRequest, type ApiResponse, type PagedBody} from '#src/api/request.js';
import {acceptsGzip} from './http-headers.js';

/** Bodies up to this size are not compressed. */
const minBytes = 128 << 10;

const deflate = promisify(gzip);

/** Whether a body of that size is compressed for the client. */
export const isCompressed = ({method, headers}: ApiRequest, size: number): boolean =>
  method !== 'HEAD' && size > minBytes && acceptsGzip(headers['accept-encoding']);

/** The headers of a response with a compressed body. */
export const compressedHeaders = (headers: ApiResponse['headers']): ApiResponse['headers'] => ({
  ...headers,
  'Content-Encoding': 'gzip',
  Vary: vary(headers['Vary']),
});

/** Compresses the response's body if it is large and the client accepts it. Streams are not compressed. */
export const compressed = (request: ApiRequest, response: ApiResponse): ApiResponse | Promise<ApiResponse> => {
  const {body} = response;
  if (body.kind === 'pages')
    return request.method === 'HEAD' || !acceptsGzip(request.headers['accept-encoding'])
      ? response
      : {...response, headers: compressedHeaders(response.headers), body: zippedPages(body)};
  if ((body.kind !== 'bytes' && body.kind !== 'object') || request.method === 'HEAD') return response;
  const bytes = body.kind === 'object' ? body.bytes() : body.bytes;
  if (response.headers['Content-Encoding'] !== undefined || !isCompressed(request, bytes.length)) {
    // Reuses the bytes whose size was measured: a body is encoded anew each time.
    return body.kind === 'object' ? {...response, body: {kind: 'bytes', bytes, contentType: body.contentType}} : response;
  }
  return deflate(bytes, {level: constants.Z_BEST_SPEED}).then(packed => ({
    ...response,
    headers: compressedHeaders(response.headers),
    body: {kind: 'bytes', bytes: packed, contentType: body.contentType},
  }));
};

/** The pages of a body, compressed while they are read. */
const zippedPages = (body: PagedBody): PagedBody => {
  const zipped = pipeline(pagesOf(body), createGzip({level: constants.Z_BEST_SPEED, chunkSize: 64 << 10}), () => body.close());
  const chunks = zipped[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>;
  return {
    kind: 'pages',
    contentType: body.contentType,
    next: async () => (await chunks.next()).value,
    object: () => body.object(),
    close: () => void zipped.destroy(),
  };
};

const vary = (before: string | string[] | undefined): string =>
  before === undefined
    ? 'Accept-Encoding'
    : String(before).includes('Accept-Encoding')
      ? String(before)
      : `${String(before)}, Accept-Encoding`;
