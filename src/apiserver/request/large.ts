/**
 * Requests whose work would block the event loop. A body, or the stored object that a request changes or converts, has
 * a weight: about the time it takes to read, validate, merge and write it. Above `maxWeight` the request is moved to
 * another thread (`LargeRequests`) before anything was done for it.
 */
import {settle} from '#src/base/eventually.js';
import {jsonText} from '#src/base/json/json.js';
import {header, type ApiBody, type ApiRequest, type ApiResponse} from '#src/api/request.js';
import type {UserInfo} from '#src/api/user.js';
import {bytesOfWeight, weightLeft} from '#src/base/json/json-weight.js';
import type {RequestContext} from './context.js';

/** The weight up to which a request is handled in this thread: about ten milliseconds of work. */
export const maxWeight = 8000;

/** The parts of a moved request besides its body and user. */
export type MovedRequest = Pick<ApiRequest, 'method' | 'url' | 'headers' | 'remoteAddress' | 'signal'> & Pick<RequestContext, 'notes'>;

/** Handles requests in another thread. */
export interface LargeRequests {
  /**
   * Returns undefined if the other thread is not available. Throws 429 if too many requests are queued, 413 for a
   * request that needs too much memory.
   */
  answer(request: MovedRequest, body: Buffer | undefined, user: UserInfo): Promise<ApiResponse | undefined>;
}

/** Thrown when a request should be moved to the other thread; nothing has been done for it yet. */
export class TooLarge extends Error {
  override readonly name = 'TooLarge';
}

/**
 * The bytes that separate values, and those of calls, groups, repetitions and steps in expressions, patterns, pointers
 * and address blocks, each of which is compiled or evaluated separately.
 */
const weighedBytes = new Uint8Array(256);
for (const byte of Buffer.from(',:[{\n(|*+/')) weighedBytes[byte] = 1;

/**
 * Whether handling a body or a stored object of these bytes may block the event loop for too long. Reads only as many
 * bytes as needed.
 */
export const isLarge = (bytes: Uint8Array): boolean => {
  const {length} = bytes;
  if (length <= maxWeight) return false;
  let weight = length / bytesOfWeight;
  for (let at = 0; at < length && weight <= maxWeight; at++) weight += weighedBytes[bytes[at]!]!;
  return weight > maxWeight;
};

/** In binary forms values have no separators; their number is estimated by the length. */
const bytesOfValue = 4;

type Bytes = ApiBody & {readonly kind: 'bytes'};

/**
 * The body of a request that may be moved: throws `TooLarge` when it is read and found too large, and then returns the
 * bytes for the other thread.
 */
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
    if (this.#isBinary ? bytes.length > maxWeight * bytesOfValue : isLarge(bytes)) throw new TooLarge();
    return bytes;
  }
}

/** Throws `TooLarge` for a large stored object, if the request can be moved. */
export const checkStored = ({mayMove}: Pick<RequestContext, 'mayMove'>, value: Buffer): void => {
  if (mayMove && isLarge(value)) throw new TooLarge();
};

/**
 * Returns a function for the values that a request adds to its object by copying. It throws `TooLarge` once they are
 * large together, if the request can be moved.
 */
export const checkCopies = ({mayMove}: Pick<RequestContext, 'mayMove'>): ((value: unknown) => void) | undefined => {
  if (!mayMove) return undefined;
  let left = maxWeight;
  return value => {
    left = weightLeft(value, left);
    if (left < 0) throw new TooLarge();
  };
};

/**
 * Throws `TooLarge` for an object that a webhook has made large, if the request can be moved: its webhooks are called
 * again then.
 */
export const checkChanged = ({mayMove}: Pick<RequestContext, 'mayMove'>, change: Buffer | object): void => {
  if (mayMove && (Buffer.isBuffer(change) ? isLarge(change) : weightLeft(change, maxWeight) < 0)) throw new TooLarge();
};

/**
 * Throws `TooLarge` for work of this weight that follows from stored objects, not from the request, if the request can
 * be moved.
 */
export const checkWork = ({mayMove}: Pick<RequestContext, 'mayMove'>, weight: number): void => {
  if (mayMove && weight > maxWeight) throw new TooLarge();
};

type Run = (context: RequestContext) => ApiResponse | Promise<ApiResponse>;

/** Handles a request, in the other thread if it is found too large for this one. */
export const handleOrMove = (large: LargeRequests | undefined, context: RequestContext, run: Run): ApiResponse | Promise<ApiResponse> => {
  if (!large) return run(context);
  const {request} = context;
  const body = request.body?.kind === 'bytes' ? new WeighedBody(request.body, isBinary(request)) : undefined;
  const warnings = context.warnings.size;
  const moved = (error: unknown) => {
    if (!(error instanceof TooLarge)) throw error;
    for (const text of [...context.warnings].slice(warnings)) context.warnings.delete(text); // The other thread reports the warnings again.
    return elsewhere(large, context, body?.bytes, run);
  };
  return settle(
    () => run(context.movableWith(body)),
    response => response,
    moved,
  );
};

const elsewhere = async (large: LargeRequests, context: RequestContext, read: Buffer | undefined, run: Run): Promise<ApiResponse> => {
  const {
    request: {method, url, headers, remoteAddress, signal, body},
    user,
    auditId,
    notes,
  } = context;
  // Bodies that come as objects are small.
  const bytes = body?.kind === 'object' ? Buffer.from(jsonText(body.value)) : read;
  const response = await large.answer({method, url, headers: {...headers, 'audit-id': auditId}, remoteAddress, signal, notes}, bytes, user);
  return response ?? run(context.withBody(read && {kind: 'bytes', read: () => Promise.resolve(read)}));
};

const isBinary = (request: ApiRequest): boolean => /protobuf|cbor/.test(header(request, 'content-type') ?? '');
