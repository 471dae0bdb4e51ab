import type {Duplex, Readable} from 'node:stream';
import type {UserInfo} from './user.js';

/** What a caller proves himself with. */
export interface Credentials {
  /** DER of the client's certificate chain, leaf first; empty without one. */
  readonly certificates: readonly Buffer[];
  /** Something that stays the same object for a connection, so that what was verified once need not be again. */
  readonly connection?: object;
}

/** Who calls: someone to be authenticated, or a user whom the caller's own process vouches for. */
export type Caller = {readonly credentials: Credentials} | {readonly user: UserInfo};

/** One request, whichever way it came in. */
export interface ApiRequest {
  /** Upper case. */
  readonly method: string;
  /** Path and query as sent, percent-encoded. */
  readonly url: string;
  /** Names in lower case; repeated headers are joined by the face as HTTP prescribes, except those in `repeated`. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly caller: Caller;
  readonly remoteAddress: string;
  /** Bytes, or an object that the in-process client hands over for good. */
  readonly body?: ApiBody | undefined;
  /** Aborts when the caller went away. */
  readonly signal: AbortSignal;
  /** Whether the connection may speak another protocol from here on: the answer may then be an `upgrade`. Never so over HTTP/2. */
  readonly upgradable?: boolean;
  /** Whether the answer's bytes are sent somewhere, which may take its time: then the answer tells the `delivery` it has to keep to. */
  readonly sendsBytes?: boolean;
  /** Whether the caller takes objects instead of encoded bytes: then responses and watch events carry parsed, frozen values. */
  readonly inProcess?: boolean;
}

export type ApiBody =
  | {readonly kind: 'object'; readonly value: unknown}
  /** Reads the whole body, refusing with `RequestEntityTooLarge` what exceeds the limit. */
  | {
      readonly kind: 'bytes';
      read(limit: number): Promise<Buffer>;
      /** The body as it comes in, for those who pass it on: nothing is read ahead. Instead of `read`, and only once; a face that has whole bodies only lacks it. */
      stream?(): Readable;
      /** Has somebody told of the reading. A body that is there from the beginning lacks it. */
      follow?(reading: BodyReading): void;
    };

/** Told how the reading of a body goes. */
export interface BodyReading {
  /** The body is waited for from now on. `stop` ends that with an error, and lets go of what has come. */
  begun(stop: (error: Error) => void): void;
  /** So many bytes have come in and are kept. */
  took(bytes: number): void;
  /** Nothing is waited for any more. Returns why a request whose body has come as a whole cannot go on. */
  ended(isWhole: boolean): Error | undefined;
}

/** A stream of watch events. The core pushes; the face decides how to frame and when to flush. */
export interface WatchSink {
  /** Whether the consumer keeps up; false asks for patience, and a consumer who stays behind is cut off. */
  event(event: EncodedEvent): boolean;
  /** Resolves as soon as the consumer has caught up, or is gone. To be awaited after `event` said false, above all while sending an initial state. */
  drained(): Promise<void>;
  /** The stream is over. */
  end(): void;
}

/** A watch event: its encoded line once anyone asked for it, its object once anyone asked for that. Shared by all watchers of one form. */
export interface EncodedEvent {
  readonly type: string;
  /** One JSON value and a newline, or a frame of the binary form: the length in four bytes and as many more. */
  bytes(): Buffer;
  /** The parsed, frozen object. */
  object(): unknown;
}

export type ResponseBody =
  | {readonly kind: 'empty'}
  | {readonly kind: 'bytes'; readonly bytes: Buffer | string; readonly contentType: string}
  /** An object with its encoding at hand; whichever the face wants. */
  | {readonly kind: 'object'; readonly contentType: string; bytes(): Buffer; object(): unknown}
  | PagedBody
  | {readonly kind: 'watch'; readonly contentType: string; start(sink: WatchSink): Disposable}
  /**
   * Bytes that someone else answers with, passed on as they come; their type and length, where told, are among the headers. An error in the middle breaks the answer off.
   * Whoever does not read the source to its end destroys it.
   */
  | {readonly kind: 'stream'; readonly source: Readable}
  /**
   * The connection speaks another protocol from now on. `take` gets the caller's socket and what was read of it already, writes the head of the answer itself and sees to the end of the socket;
   * whoever cannot hand a socket over calls `drop` instead, and whoever wants it over after that calls it too. A `take` that throws or rejects leaves the socket to the caller. Only for requests that are `upgradable`.
   */
  | {readonly kind: 'upgrade'; take(socket: Duplex, head: Buffer): void | Promise<void>; drop(): void};

/** A collection too large to be held at once: it is read and encoded page by page, as of one revision. Either `next` or `object` is used, and only by one reader. */
export interface PagedBody {
  readonly kind: 'pages';
  readonly contentType: string;
  /** The next bytes, or undefined after the last. To be called again only once they are on their way. Rejects when the rest cannot be read any more. */
  next(): Promise<Buffer | undefined>;
  /** The whole collection as an object. */
  object(): Promise<unknown>;
  /** Lets go of the rest; pages that are not read yet never are. */
  close(): void;
}

/** One answer. Header names in their usual spelling. */
export interface ApiResponse {
  readonly status: number;
  readonly headers: Record<string, string | string[]>;
  readonly body: ResponseBody;
  /** Only for requests that send bytes. Whoever sends them ends it once the last byte is on its way, or the caller is gone. */
  delivery?: Delivery;
}

/** The sending of an answer, which belongs to the time of its request. */
export interface Delivery extends Disposable {
  /** When all bytes must have been sent, by the monotonic clock. */
  readonly endsAt: number;
}

/** The pages of a body, in order. Whoever stops early closes it. */
export async function* pagesOf(body: PagedBody): AsyncGenerator<Buffer, undefined> {
  try {
    for (let page = await body.next(); page !== undefined; page = await body.next()) yield page;
  } finally {
    body.close();
  }
}

/** Lets go of an answer that nobody will read. */
export const discard = ({body}: ApiResponse): void => {
  if (body.kind === 'stream') body.source.destroy();
  else if (body.kind === 'pages') body.close();
  else if (body.kind === 'upgrade') body.drop();
};

/** The one door of the API server: the HTTP face and the in-process client both call it. Never rejects. */
export type Exchange = (request: ApiRequest) => Promise<ApiResponse>;
