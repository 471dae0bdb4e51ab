// What stands between authorization and the handlers of an API server: tests make requests meet faults there, over
// every transport.

/** A request for a resource, as it is after authentication and authorization. */
export interface InterceptedRequest {
  readonly verb: string;
  /** The group on the wire; empty for core. */
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly user: string;
  readonly userAgent: string;
}

/**
 * The `ApiResponse` of a handler, which has no name here: the package's types include this module, and do without those
 * of Node.js.
 */
export type InterceptedResponse = object;

/**
 * What a request meets: a refusal with an error (a `StatusError` as such, another as 500), a delay before it is
 * handled, the end of its stream after a time, or something around its handling, which may handle it or not, and change
 * the response.
 */
export type Interception =
  | {readonly kind: 'refuse'; readonly error: Error}
  | {readonly kind: 'delay'; readonly ms: number}
  | {readonly kind: 'cut'; readonly afterMs: number}
  | {readonly kind: 'around'; around(handle: () => Promise<InterceptedResponse>): Promise<InterceptedResponse>};

/** Returns what a request meets; undefined for requests that it leaves alone. */
export type Interceptor = (request: InterceptedRequest) => Interception | undefined;
