/** The subject of a call, for error messages when the server sends none. */
export interface CallSubject {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly name?: string;
}

/** One call to an API server. */
export interface Call {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** An object to be encoded, or text sent unchanged. */
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
  readonly signal?: AbortSignal | undefined;
  readonly subject?: CallSubject;
  /** Receives the texts of the `Warning` headers of the response, also of an error. */
  readonly onWarning?: ((text: string) => void) | undefined;
}

/** A response, errors included. The body is parsed if it is JSON, text otherwise, undefined when empty. */
export interface Reply {
  readonly status: number;
  /** Returns a response header by its lower-case name. */
  header(name: string): string | undefined;
  readonly body: unknown;
}

export interface WatchListener {
  event(type: string, object: unknown): void;
  /** Called at most once when the stream ends, with `error` if it broke. */
  end(error?: unknown): void;
}

/** Calls an API server over HTTPS or in process. Rejects only when the server was not reached or the signal aborted. */
export interface Caller {
  call(call: Call): Promise<Reply>;
  /**
   * Resolves to undefined once the stream is open, or to the error response. The stream ends when the signal aborts;
   * the listener is not called after that.
   */
  watch(call: Call & {readonly signal: AbortSignal}, listener: WatchListener): Promise<Reply | undefined>;
  /** Returns whether a watch fails by itself when its connection is dead; absent if all do. */
  readonly isProbed?: (() => Promise<boolean>) | undefined;
}
