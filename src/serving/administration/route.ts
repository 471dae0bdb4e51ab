import type {ApiRequest, ApiResponse} from '#src/api/request.js';

/** A request to an administrative path. */
export interface AdministrativeRequest {
  /** Upper case. */
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly request: ApiRequest;
}

/** An administrative path and its handler; a path that ends in `/*` matches everything below. */
export interface AdministrativeRoute {
  readonly path: string;
  answer(request: AdministrativeRequest): ApiResponse | Promise<ApiResponse>;
}

/** A plain text response that is not cached, and whose type is not sniffed. */
export const text = (body: string | Buffer, status = 200, contentType = 'text/plain; charset=utf-8'): ApiResponse => ({
  status,
  headers: {'Cache-Control': 'no-cache, private', 'X-Content-Type-Options': 'nosniff'},
  body: {kind: 'bytes', bytes: body, contentType},
});

export const jsonText = (value: unknown): ApiResponse => text(`${JSON.stringify(value)}\n`, 200, 'application/json');

export const notFoundPage = (): ApiResponse => text('404 page not found\n', 404);
