import type {ApiRequest, ApiResponse, ApiHandler} from '#src/api/request.js';
import type {Authenticator} from '#src/api/authentication.js';
import type {Attributes, Authorizer} from '#src/api/authorization.js';
import {StatusError} from '#src/api/status.js';
import type {UserInfo} from '#src/api/user.js';
import {messageOf} from '#src/base/message.js';
import {text} from '#src/serving/administration/route.js';
import {authenticate, type Anonymous} from '#src/serving/authenticators/union.js';

export interface AgentGuard {
  /** The name of the agent's node. */
  readonly node: string;
  readonly authenticators: readonly Authenticator[];
  /** The paths on which users without credentials are served as anonymous; none if absent. */
  readonly anonymous?: Anonymous | undefined;
  readonly authorizer: Authorizer;
  /** Whether parts of what `proxy` allows have permissions of their own, as they have by default. */
  readonly isFineGrained?: boolean;
  /** Called for failures of this server. */
  failed(error: unknown): void;
}

const verbs: Readonly<Record<string, string>> = {POST: 'create', GET: 'get', PUT: 'update', PATCH: 'patch', DELETE: 'delete'};

/** The subresources of a node by the first segment of a path; permission for any of them is enough. */
const subresources: Readonly<Record<string, readonly string[]>> = {
  pods: ['pods', 'proxy'],
  runningpods: ['pods', 'proxy'],
  healthz: ['healthz', 'proxy'],
  configz: ['configz', 'proxy'],
  stats: ['stats'],
  metrics: ['metrics'],
  logs: ['log'],
  checkpoint: ['checkpoint'],
  statusz: ['statusz'],
  flagz: ['configz'],
};
const everythingElse = ['proxy'];
/** Those that have permissions of their own in any case. */
const coarse: ReadonlySet<string> = new Set(['stats', 'metrics', 'logs', 'checkpoint', 'statusz', 'flagz']);

const pathOf = ({url}: ApiRequest): string => {
  const end = url.indexOf('?');
  return end < 0 ? url : url.slice(0, end);
};

/**
 * Returns the first segment of a path as the handler decodes it, so that an escaped one requires the same permission.
 */
const firstPartOf = (path: string): string => {
  const [, first = ''] = path.split('/', 2);
  try {
    return decodeURIComponent(first);
  } catch {
    return first; // The handler then responds with 400.
  }
};

/** The permissions on a node that allow a request, most specific first. */
const attributesOf = ({node, isFineGrained = true}: AgentGuard, user: UserInfo, request: ApiRequest): Attributes[] => {
  const path = pathOf(request);
  const first = firstPartOf(path);
  const isOwn = Object.hasOwn(subresources, first) && (isFineGrained || coarse.has(first));
  const required = isOwn ? subresources[first]! : everythingElse;
  const verb = verbs[request.method] ?? '';
  return required.map(subresource => ({
    user,
    verb,
    path,
    resource: {group: '', version: 'v1', resource: 'nodes', subresource, namespace: '', name: node},
  }));
};

const described = ([first, ...rest]: readonly Attributes[]): string => {
  const all = [first!, ...rest].map(({resource}) => resource!.subresource);
  return `(user=${first!.user.name}, verb=${first!.verb}, resource=nodes, subresource(s)=[${all.join(' ')}])`;
};

/**
 * Passes on requests whose user is authenticated and has permission for the agent's node. Responds to others with 401
 * or 403 in plain text.
 */
export const guarded =
  (guard: AgentGuard, handler: ApiHandler): ApiHandler =>
  async request => {
    const {authenticators, anonymous, authorizer, failed} = guard;
    const {caller, headers} = request;
    let user: UserInfo;
    try {
      user =
        'user' in caller
          ? caller.user
          : await authenticate(authenticators, anonymous, {credentials: caller.credentials, headers}, pathOf(request));
    } catch (error) {
      if (!(error instanceof StatusError)) failed(error);
      return text('Unauthorized', 401);
    }
    const attributes = attributesOf(guard, user, request);
    return (await refusal(authorizer, attributes, failed)) ?? handler(request);
  };

const refusal = async (
  authorizer: Authorizer,
  attributes: readonly Attributes[],
  failed: (error: unknown) => void,
): Promise<ApiResponse | undefined> => {
  for (const one of attributes) {
    try {
      const {decision} = await authorizer.authorize(one);
      if (decision === 'allow') return undefined;
    } catch (error) {
      failed(error);
      return text(`Authorization error ${described(attributes)}: ${messageOf(error)}\n`, 500);
    }
  }
  return text(`Forbidden ${described(attributes)}\n`, 403);
};
