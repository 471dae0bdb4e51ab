import {promisify} from 'node:util';
import {pipeline} from 'node:stream';
import {constants, createGzip, gzip} from 'node:zlib';
import {pagesOf, type ApiRequest, type ApiResponse, type PagedBody} from '#src/api/request.js';
import {acceptsGzip} from './http-headers.js';

/** Bodies up to this size are sent as they are. */
const smallestBytes = 128 << 10;

const deflate = promisify(gzip);

/** Whether a body of that size goes to the caller compressed. */
export const goesCompressed = ({method, headers}: ApiRequest, size: number): boolean => method !== 'HEAD' && size > smallestBytes && acceptsGzip(headers['accept-encoding']);

/** What an answer with a compressed body says of it, beside its other headers. */
export const compressedHeaders = (headers: ApiResponse['headers']): ApiResponse['headers'] => ({...headers, 'Content-Encoding': 'gzip', Vary: vary(headers['Vary'])});

/** The response with its body compressed when that pays and the caller takes it. Streams are left alone. */
export const compressed = (request: ApiRequest, response: ApiResponse): ApiResponse | Promise<ApiResponse> => {
  const {body} = response;
  if (body.kind === 'pages') return request.method === 'HEAD' || !acceptsGzip(request.headers['accept-encoding']) ? response : {...response, headers: compressedHeaders(response.headers), body: zippedPages(body)};
  if ((body.kind !== 'bytes' && body.kind !== 'object') || request.method === 'HEAD') return response;
  const bytes = body.kind === 'object' ? body.bytes() : body.bytes;
  if (response.headers['Content-Encoding'] !== undefined || !goesCompressed(request, bytes.length)) {
    // What was made to be measured is sent: a body is made anew each time it is asked for.
    return body.kind === 'object' ? {...response, body: {kind: 'bytes', bytes, contentType: body.contentType}} : response;
  }
  return deflate(bytes, {level: constants.Z_BEST_SPEED}).then(packed => ({
    ...response,
    headers: compressedHeaders(response.headers),
    body: {kind: 'bytes', bytes: packed, contentType: body.contentType},
  }));
};

/** The pages of a body, compressed as they are read. */
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

const vary = (before: string | string[] | undefined): string => (before === undefined ? 'Accept-Encoding' : `${String(before)}, Accept-Encoding`);
