// Requests and responses of the API server, independent of HTTP: the serving layer and the in-process client create
// requests, handlers return responses.

import type {Duplex, Readable} from 'node:stream';
import type {AuditNotes} from './audit.js';
import type {Status} from './status.js';
import type {UserInfo} from './user.js';

/** The credentials of a caller. */
export interface Credentials {
  /** DER of the client's certificate chain, leaf first; empty without one. */
  readonly certificates: readonly Buffer[];
  /** The same object for all requests of a connection, so that a certificate is verified once. */
  readonly connection?: object;
}

/**
 * The caller: credentials to be authenticated, or a user that the in-process client vouches for. With `notes` the
 * request is a part of another one, whose audit events it completes.
 */
export type Caller = {readonly credentials: Credentials} | {readonly user: UserInfo; readonly notes?: AuditNotes | undefined};

/** One API request, over HTTP or in process. */
export interface ApiRequest {
  /** Upper case. */
  readonly method: string;
  /** Path and query as sent, percent-encoded. */
  readonly url: string;
  /**
   * Names in lower case; repeated headers are joined by the HTTP server as HTTP prescribes, except those in `repeated`.
   */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly caller: Caller;
  readonly remoteAddress: string;
  /** Bytes, or an object that the in-process client gives away. */
  readonly body?: ApiBody | undefined;
  /** Aborts when the caller disconnects. */
  readonly signal: AbortSignal;
  /** Whether the connection can be upgraded: the response may then be an `upgrade`. Never set for HTTP/2. */
  readonly upgradable?: boolean;
  /** Whether it came over a connection of HTTP/2. */
  readonly isHttp2?: boolean;
  /** Whether the response is sent over a network: then it carries the `delivery` with its deadline. */
  readonly sendsBytes?: boolean;
  /**
   * Whether the caller takes objects instead of encoded bytes: then responses and watch events carry parsed, frozen
   * values.
   */
  readonly inProcess?: boolean;
}

/** Returns a header of a request; repeated ones as they were joined. */
export const header = ({headers}: ApiRequest, name: string): string | undefined => {
  const value = headers[name];
  return typeof value === 'string' || value === undefined ? value : value.join(', ');
};

/** The longest body that the API accepts, in bytes, whatever it arrives by. */
export const bodyLimit = 3 * 1024 * 1024;

export type ApiBody =
  | {readonly kind: 'object'; readonly value: unknown}
  /** `read` returns the whole body. Rejects with `RequestEntityTooLarge` beyond the limit. */
  | {
      readonly kind: 'bytes';
      read(limit: number): Promise<Buffer>;
      /** The number of bytes, once the body was read whole. */
      readonly size?: number | undefined;
      /**
       * The body as it arrives, for proxies: nothing is read ahead. Used instead of `read`, and only once; absent where
       * bodies are only available whole.
       */
      stream?(): Readable;
      /** Reports the progress of reading to `reading`. Absent for a body that is complete from the beginning. */
      observe?(reading: BodyObserver): void;
    };

/** Observes the reading of a body. */
export interface BodyObserver {
  /**
   * Called when the server begins to wait for the body. `stop` ends the wait with an error and releases the received
   * bytes.
   */
  started(stop: (error: Error) => void): void;
  /** Called with the number of bytes received and buffered. */
  received(bytes: number): void;
  /**
   * Called when reading ends. Returns why a request with a complete body cannot continue, which may take time to
   * decide.
   */
  ended(isWhole: boolean): Error | undefined | Promise<Error | undefined>;
}

/** Receives the events of a watch. The request core pushes; the HTTP server frames and flushes. */
export interface WatchSink {
  /**
   * Returns whether the consumer keeps up. After false the producer should wait for `drained`; a consumer that stays
   * behind is disconnected.
   */
  event(event: EncodedEvent): boolean;
  /** Resolves once the consumer has caught up or has disconnected. */
  drained(): Promise<void>;
  /** Ends the stream. */
  end(): void;
}

/** A watch event, encoded and parsed on first use. Shared by all watchers of the same representation. */
export interface EncodedEvent {
  readonly type: string;
  /** One JSON value and a newline, or a binary frame: a length of four bytes, then the payload. */
  bytes(): Buffer;
  /** The parsed, frozen object. */
  object(): unknown;
}

export type ResponseBody =
  | {readonly kind: 'empty'}
  | {readonly kind: 'bytes'; readonly bytes: Buffer | string; readonly contentType: string}
  /**
   * An object, encoded or parsed as the reader needs. Where `inPieces` returns a promise, the object is large and made
   * without keeping others waiting.
   */
  | {readonly kind: 'object'; readonly contentType: string; bytes(): Buffer; object(): unknown; inPieces?(): Promise<unknown> | undefined}
  | PagedBody
  | {readonly kind: 'watch'; readonly contentType: string; start(sink: WatchSink): Disposable}
  /**
   * Bytes of a backend, passed on as they arrive; content type and length, where known, are among the headers. An error
   * of the source breaks the response off. A reader that does not read the source to its end must destroy it.
   */
  | {readonly kind: 'stream'; readonly source: Readable}
  /**
   * An upgraded connection. `take` receives the client's socket and the bytes read from it so far, writes the response
   * head itself and closes the socket; a transport without a socket calls `drop` instead, as does one that ends the
   * connection later. When `take` throws or rejects, the socket stays with its caller. Through `keeps` it reports how
   * many bytes it buffers for the client besides those queued on the socket. Only for requests that are `upgradable`.
   */
  | {
      readonly kind: 'upgrade';
      take(socket: Duplex, head: Buffer, keeps?: (bytes: () => number) => void): void | Promise<void>;
      drop(): void;
    };

/**
 * A collection too large to be held at once: read and encoded page by page, as of one revision. Either `next` or
 * `object` is used, by one reader.
 */
export interface PagedBody {
  readonly kind: 'pages';
  readonly contentType: string;
  /**
   * Returns the next bytes, or undefined after the last. Called again only after they were sent. Rejects when the rest
   * can no longer be read.
   */
  next(): Promise<Buffer | undefined>;
  /** Returns the whole collection as an object. */
  object(): Promise<unknown>;
  /**
   * Called by a reader that has sent a page and keeps nothing of it: a later page may be written to its memory. Others
   * may keep the pages that they were given.
   */
  reuse?(page: Buffer): void;
  /** Releases the remaining pages unread. */
  close(): void;
  /** Returns the same list as one line of JSON, in pages of its own. */
  asJson?(): PagedBody;
}

/**
 * One API response. Header names in their usual capitalization. `Connection: close` ends the connection after the
 * response, over HTTP/2 too.
 */
export interface ApiResponse {
  readonly status: number;
  readonly headers: Record<string, string | string[]>;
  readonly body: ResponseBody;
  /** The Status that the body contains, if it is one, for the audit event. */
  readonly outcome?: Status | undefined;
  /**
   * Only for requests with `sendsBytes`. The transport disposes it once the last byte is sent or the client has
   * disconnected.
   */
  delivery?: Delivery;
}

/** The sending of a response, which counts towards the request's deadline. */
export interface Delivery extends Disposable {
  /** The deadline for the last byte, by the monotonic clock. */
  readonly endsAt: number;
  /** The user whose request it answers: the responses of several users are sent in turns. */
  readonly flow?: string;
}

/** Yields the pages of a body in order; ending the iteration early closes it. */
export async function* pagesOf(body: PagedBody): AsyncGenerator<Buffer, undefined> {
  try {
    for (let page = await body.next(); page !== undefined; page = await body.next()) yield page;
  } finally {
    body.close();
  }
}

/** Releases a response that will not be read. */
export const discard = ({body}: ApiResponse): void => {
  if (body.kind === 'stream') body.source.destroy();
  else if (body.kind === 'pages') body.close();
  else if (body.kind === 'upgrade') body.drop();
};

/**
 * Answers one API request. The HTTP server and the in-process client both call the API server through it. Never
 * rejects.
 */
export type ApiHandler = (request: ApiRequest) => Promise<ApiResponse>;
