import type {ApiResponse} from '#src/api/request.js';
import type {Headers} from './http-headers.js';

const allowed = {
  methods: 'POST, GET, OPTIONS, PUT, DELETE, PATCH',
  headers: 'Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since',
  exposed: 'Date',
};

/** The headers for an allowed origin; `preflight` is the complete response to a preflight request. */
export interface CorsVerdict {
  readonly headers: Readonly<Record<string, string>>;
  readonly preflight?: ApiResponse;
}

export type Cors = (method: string, headers: Headers) => CorsVerdict | undefined;

/** A pattern of allowed origins. Clients choose the text, so it must be matched in linear time. */
export interface OriginPattern {
  test(origin: string): boolean;
}

/** Returns the CORS rules for patterns of allowed origins. */
export const cors =
  (origins: readonly OriginPattern[]): Cors =>
  (method, {origin}) => {
    if (typeof origin !== 'string' || !origins.some(pattern => pattern.test(origin))) return undefined;
    const headers = {
      'Access-Control-Allow-Origin': origin,
      'Access-Control-Allow-Methods': allowed.methods,
      'Access-Control-Allow-Headers': allowed.headers,
      'Access-Control-Expose-Headers': allowed.exposed,
      'Access-Control-Allow-Credentials': 'true',
    };
    return method === 'OPTIONS' ? {headers, preflight: {status: 204, headers: {}, body: {kind: 'empty'}}} : {headers};
  };
