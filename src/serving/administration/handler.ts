// The API handler of a component's own port: fixed routes for health, metrics and debugging, with authentication and
// authorization. The API server serves these routes through its own router.

import type {ApiRequest, ApiResponse, ApiHandler} from '#src/api/request.js';
import {StatusError, internalError} from '#src/api/status.js';
import type {UserInfo} from '#src/api/user.js';
import {type Anonymous, authenticate} from '#src/serving/authenticators/union.js';
import type {Authenticator} from '#src/api/authentication.js';
import type {Authorizer} from '#src/api/authorization.js';
import {denial} from '#src/serving/authorizers/denial.js';
import {type AdministrativeRoute, type AdministrativeRequest, notFoundPage, text} from './route.js';

export interface AdministrationSettings {
  readonly routes: readonly AdministrativeRoute[];
  readonly authenticators: readonly Authenticator[];
  readonly anonymous: Anonymous | undefined;
  readonly authorizer: Authorizer;
  /** Called for failures of this server. */
  failed(error: unknown, request: ApiRequest): void;
}

/** Anonymous requests are allowed on all paths; the authorizer decides. */
export const anonymousEverywhere: Anonymous = {allows: () => true};

/** The API handler of a component's own port: administrative routes behind authentication and authorization. */
export const administration = (settings: AdministrationSettings): ApiHandler => {
  const find = finder(settings.routes);
  return async request => {
    try {
      const adminRequest = adminRequestOf(request);
      const {caller} = request;
      const user =
        'user' in caller
          ? caller.user
          : await authenticate(
              settings.authenticators,
              settings.anonymous,
              {credentials: caller.credentials, headers: request.headers},
              adminRequest.path,
            );
      const refusal = await refused(settings.authorizer, user, adminRequest);
      if (refusal) return refusal;
      const route = find(adminRequest.path);
      return route ? await route.answer(adminRequest) : notFoundPage();
    } catch (error) {
      if (!(error instanceof StatusError)) settings.failed(error, request);
      return failure(error instanceof StatusError ? error : internalError(error));
    }
  };
};

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
