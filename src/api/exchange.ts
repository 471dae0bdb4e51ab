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
  /** Whether the caller takes objects instead of encoded bytes: then responses and watch events carry parsed, frozen values. */
  readonly inProcess?: boolean;
}

export type ApiBody =
  | {readonly kind: 'object'; readonly value: unknown}
  /** Reads the whole body, refusing with `RequestEntityTooLarge` what exceeds the limit. */
  | {readonly kind: 'bytes'; read(limit: number): Promise<Buffer>};

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
  | {readonly kind: 'watch'; readonly contentType: string; start(sink: WatchSink): Disposable};

/** One answer. Header names in their usual spelling. */
export interface ApiResponse {
  readonly status: number;
  readonly headers: Record<string, string | string[]>;
  readonly body: ResponseBody;
}

/** The one door of the API server: the HTTP face and the in-process client both call it. Never rejects. */
export type Exchange = (request: ApiRequest) => Promise<ApiResponse>;
