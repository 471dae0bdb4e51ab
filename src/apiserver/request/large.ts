/**
 * Requests whose work would hold the event loop. A body, or the stored object that a request changes or converts, has a weight: about the time it takes to read, validate, merge and write it.
 * Beyond `mostWeight` the request is handed to another thread (`LargeRequests`) before anything was done for it.
 */
import {jsonText} from '#src/base/json.js';
import type {ApiBody, ApiRequest, ApiResponse} from '#src/api/request.js';
import type {UserInfo} from '#src/api/user.js';
import {bytesOfWeight} from '#src/base/json-weight.js';
import {header, type RequestContext} from './context.js';

/** The weight up to which a request is worked on beside all others: some ten milliseconds of work. */
export const mostWeight = 8000;

/** What goes along with a request besides its body and user. */
export type MovedRequest = Pick<ApiRequest, 'method' | 'url' | 'headers' | 'remoteAddress' | 'signal'>;

/** Answers requests elsewhere than in this thread. */
export interface LargeRequests {
  /** Undefined where the other thread cannot be had. Throws 429 while too many requests wait for it, 413 for one that takes too much memory. */
  answer(request: MovedRequest, body: Buffer | undefined, user: UserInfo): Promise<ApiResponse | undefined>;
}

/** Thrown on the way to an answer that another thread should give; nothing has been done yet. */
class TooLarge extends Error {
  override readonly name = 'TooLarge';
}

/** What separates values, and what calls, groups, repeats and steps in expressions, patterns, pointers and address blocks: each is compiled or walked by itself. */
const heavy = new Uint8Array(256);
for (const byte of Buffer.from(',:[{\n(|*+/')) heavy[byte] = 1;

/** Whether handling a body, or a stored object, of these bytes may take longer than others should wait. Reads no further than that takes to know. */
export const isLarge = (bytes: Uint8Array): boolean => {
  const {length} = bytes;
  if (length <= mostWeight) return false;
  let weight = length / bytesOfWeight;
  for (let at = 0; at < length && weight <= mostWeight; at++) weight += heavy[bytes[at]!]!;
  return weight > mostWeight;
};

/** Binary forms show their values by their length alone. */
const bytesOfValue = 4;

type Bytes = ApiBody & {readonly kind: 'bytes'};

/** The body of a request that may be handed over: throws `TooLarge` when it is read and found so, and can then be had whole. */
class WeighedBody {
  readonly kind = 'bytes';
  readonly #body: Bytes;
  readonly #isBinary: boolean;
  bytes: Buffer | undefined;

  constructor(body: Bytes, isBinary: boolean) {
    this.#body = body;
    this.#isBinary = isBinary;
  }

  async read(limit: number): Promise<Buffer> {
    const bytes = (this.bytes ??= await this.#body.read(limit));
    if (this.#isBinary ? bytes.length > mostWeight * bytesOfValue : isLarge(bytes)) throw new TooLarge();
    return bytes;
  }
}

/** Throws `TooLarge` for a stored object that is so, where the request can be handed over. */
export const checkStored = ({mayMove}: Pick<RequestContext, 'mayMove'>, value: Buffer): void => {
  if (mayMove && isLarge(value)) throw new TooLarge();
};

type Run = (context: RequestContext) => ApiResponse | Promise<ApiResponse>;

/** Answers a request, or has it answered by another thread once it is found too large for this one. */
export const movable = (large: LargeRequests | undefined, context: RequestContext, run: Run): ApiResponse | Promise<ApiResponse> => {
  if (!large) return run(context);
  const {request} = context;
  const body = request.body?.kind === 'bytes' ? new WeighedBody(request.body, isBinary(request)) : undefined;
  const warnings = context.warnings.size;
  const moved = (error: unknown) => {
    if (!(error instanceof TooLarge)) throw error;
    for (const text of [...context.warnings].slice(warnings)) context.warnings.delete(text); // The other thread warns again.
    return elsewhere(large, context, body?.bytes, run);
  };
  try {
    const response = run(context.movable(body));
    return response instanceof Promise ? response.catch(moved) : response;
  } catch (error) {
    return moved(error);
  }
};

const elsewhere = async (large: LargeRequests, context: RequestContext, read: Buffer | undefined, run: Run): Promise<ApiResponse> => {
  const {request: {method, url, headers, remoteAddress, signal, body}, user, auditId} = context;
  // What comes as an object is small.
  const bytes = body?.kind === 'object' ? Buffer.from(jsonText(body.value)) : read;
  const response = await large.answer({method, url, headers: {...headers, 'audit-id': auditId}, remoteAddress, signal}, bytes, user);
  return response ?? run(context.having(read && {kind: 'bytes', read: () => Promise.resolve(read)}));
};

const isBinary = (request: ApiRequest): boolean => /protobuf|cbor/.test(header(request, 'content-type') ?? '');
