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

/** Returns the CORS rules for patterns of allowed origins. Throws for an invalid regular expression. */
export const cors = (patterns: readonly string[]): Cors => {
  const origins = patterns.map(compile);
  return (method, {origin}) => {
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
};

const compile = (pattern: string): RegExp => {
  try {
    return new RegExp(pattern);
  } catch (cause) {
    throw new Error(`--cors-allowed-origins: ${pattern}: ${(cause as Error).message}`, {cause});
  }
};
