import type {ApiResponse} from '#src/api/request.js';
import type {Handler} from '#src/apiserver/request/context.js';

/** A path that is not a resource's, with its handler; a `path` that ends in `/*` matches everything below. */
export interface Route {
  readonly path: string;
  readonly methods?: readonly string[];
  readonly handler: Handler;
  /** Left out of the index at `/`. */
  readonly hidden?: boolean;
  /** The paths below, if the index lists each of them. */
  below?(): readonly string[];
}

/** The plain-text 404 of an unknown path. */
export const pageNotFound = (): ApiResponse => ({
  status: 404,
  headers: {'X-Content-Type-Options': 'nosniff'},
  body: {kind: 'bytes', bytes: '404 page not found\n', contentType: 'text/plain; charset=utf-8'},
});
