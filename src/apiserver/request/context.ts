import type {ApiRequest, ApiResponse} from '#src/api/exchange.js';
import type {UserInfo} from '#src/api/user.js';
import type {RequestInfo, ResourceTarget} from './request-info.js';

/** A request on its way through the core. */
export interface RequestContext {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly auditId: string;
  readonly user: UserInfo;
  /** Texts of `Warning` headers, in order, each once. */
  readonly warnings: Set<string>;
  /** Aborts when the caller went away or the deadline passed. */
  readonly signal: AbortSignal;
  /** When nobody waits for what a write still has to ask others, by the monotonic clock. */
  readonly deadlineAt?: number | undefined;
}

export interface ResourceContext extends RequestContext {
  readonly target: ResourceTarget;
}

/** The context of a request, made without touching what most requests never need. */
export class Context implements RequestContext {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly auditId: string;
  readonly user: UserInfo;
  readonly warnings: Set<string>;
  readonly deadlineAt: number | undefined;

  constructor(request: ApiRequest, info: RequestInfo, auditId: string, user: UserInfo, warnings: Set<string>, deadlineAt?: number) {
    this.request = request;
    this.info = info;
    this.auditId = auditId;
    this.user = user;
    this.warnings = warnings;
    this.deadlineAt = deadlineAt;
  }

  get signal(): AbortSignal {
    return this.request.signal;
  }

  /** Only for requests that name a resource. */
  get target(): ResourceTarget {
    return this.info.resource!;
  }
}

/** What answers a request. Throws a `StatusError` (or anything, which becomes an internal error) to refuse. */
export type Handler = (context: RequestContext) => ApiResponse | Promise<ApiResponse>;

/** One header of a request; repeated ones as they were joined. */
export const header = ({headers}: ApiRequest, name: string): string | undefined => {
  const value = headers[name];
  return typeof value === 'string' || value === undefined ? value : value.join(', ');
};
