// The API handler of a component's own port: fixed routes for health, metrics and debugging, with authentication and
// authorization. The API server serves these routes through its own router.

import type {ApiRequest, ApiResponse, ApiHandler} from '#src/api/request.js';
import {StatusError, internalError} from '#src/api/status.js';
import type {UserInfo} from '#src/api/user.js';
import {type Anonymous, authenticate, isUnauthenticated} from '#src/serving/authenticators/union.js';
import type {Authenticator} from '#src/api/authentication.js';
import type {Authorizer} from '#src/api/authorization.js';
import {denial} from '#src/serving/authorizers/denial.js';
import {type AdministrativeRoute, type AdministrativeRequest, notFoundPage, text} from './route.js';

export interface AdministrationSettings {
  readonly routes: readonly AdministrativeRoute[];
  readonly authenticators: readonly Authenticator[];
  readonly anonymous: Anonymous | undefined;
  readonly authorizer: Authorizer;
  /** Whether a connection of HTTP/2 ends with the first request on it that is anonymous or refused with 401. */
  readonly closesUnauthenticated?: boolean;
  /** Called for failures of this server. */
  failed(error: unknown, request: ApiRequest): void;
}

/** Anonymous requests are allowed on all paths; the authorizer decides. */
export const anonymousEverywhere: Anonymous = {allows: () => true};

/** The API handler of a component's own port: administrative routes behind authentication and authorization. */
export const administration = (settings: AdministrationSettings): ApiHandler => {
  const find = finder(settings.routes);
  const answer = async (user: UserInfo, request: AdministrativeRequest): Promise<ApiResponse> =>
    (await refused(settings.authorizer, user, request)) ?? (await find(request.path)?.answer(request)) ?? notFoundPage();
  return async request => {
    const failed = (error: unknown): ApiResponse => {
      if (!(error instanceof StatusError)) settings.failed(error, request);
      return failure(error instanceof StatusError ? error : internalError(error));
    };
    const closing = (response: ApiResponse): ApiResponse =>
      settings.closesUnauthenticated && request.isHttp2 ? {...response, headers: {...response.headers, Connection: 'close'}} : response;
    const adminRequest = adminRequestOf(request);
    let user: UserInfo;
    try {
      user = await userOf(settings, adminRequest);
    } catch (error) {
      return closing(failed(error));
    }
    const response = await answer(user, adminRequest).catch(failed);
    return isUnauthenticated(user) ? closing(response) : response;
  };
};

const userOf = async (
  {authenticators, anonymous}: AdministrationSettings,
  {request: {caller, headers}, path}: AdministrativeRequest,
): Promise<UserInfo> =>
  'user' in caller ? caller.user : authenticate(authenticators, anonymous, {credentials: caller.credentials, headers}, path);

/** The same routes without authentication, for a Unix socket. */
export const openAdministration = (routes: readonly AdministrativeRoute[], failed: AdministrationSettings['failed']): ApiHandler =>
  administration({
    routes,
    authenticators: [],
    anonymous: anonymousEverywhere,
    authorizer: {authorize: () => ({decision: 'allow'})},
    failed,
  });

const adminRequestOf = (request: ApiRequest): AdministrativeRequest => {
  const end = request.url.indexOf('?');
  return {
    method: request.method,
    path: end === -1 ? request.url : request.url.slice(0, end),
    query: new URLSearchParams(end === -1 ? '' : request.url.slice(end + 1)),
    request,
  };
};

const refused = async (authorizer: Authorizer, user: UserInfo, {method, path}: AdministrativeRequest): Promise<ApiResponse | undefined> => {
  const attributes = {user, verb: method.toLowerCase(), path};
  try {
    const {decision, reason} = await authorizer.authorize(attributes);
    return decision === 'allow' ? undefined : failure(denial(attributes, reason));
  } catch (error) {
    // The authorizer could not decide: neither allowed nor denied.
    return text(`Internal Server Error: ${JSON.stringify(path)}: ${(error as Error).message}\n`, 500);
  }
};

const finder = (routes: readonly AdministrativeRoute[]): ((path: string) => AdministrativeRoute | undefined) => {
  const exact = new Map(routes.map(route => [route.path, route]));
  const below = routes.filter(({path}) => path.endsWith('/*')).sort((one, other) => other.path.length - one.path.length);
  return path => exact.get(path) ?? below.find(route => path.startsWith(route.path.slice(0, -1)));
};

const failure = ({status}: StatusError): ApiResponse => text(`${JSON.stringify(status)}\n`, status.code ?? 500, 'application/json');
