/** What a call is about, for messages when the server gives none. */
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
  /** An object to be encoded as JSON, or text to be sent as it is. */
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
  readonly signal?: AbortSignal | undefined;
  readonly subject?: CallSubject;
}

/** What the server answered, refusals included. The body is parsed if it is JSON, text otherwise, undefined when empty. */
export interface Reply {
  readonly status: number;
  /** A response header by its lower-case name. */
  header(name: string): string | undefined;
  readonly body: unknown;
}

export interface WatchListener {
  event(type: string, object: unknown): void;
  /** The stream is over: orderly, or broken by `error`. Called at most once. */
  end(error?: unknown): void;
}

/** A way to an API server: over HTTPS or within the process. Rejects only when the server was not reached or the signal aborted. */
export interface Caller {
  call(call: Call): Promise<Reply>;
  /** Resolves to undefined once the stream is open, or to the refusal. The stream ends at the latest when the signal aborts; nothing is told after that. */
  watch(call: Call & {readonly signal: AbortSignal}, listener: WatchListener): Promise<Reply | undefined>;
  /** Whether a watch ends in an error by itself when its connection is dead; every watch does where this is missing. */
  readonly isProbed?: (() => Promise<boolean>) | undefined;
}
