import type {Authenticator} from '#src/api/authentication.js';
import type {UserInfo} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import {andThen, observe, type Eventually} from '#src/base/eventually.js';
import type {AccessMetrics} from './access-metrics.js';
import type {RequestLog} from './log.js';
import {authenticate, isUnauthenticated, Unauthenticated, type Anonymous} from '#src/serving/authenticators/union.js';
import type {Filter} from './filter.js';
import type {Identified, Timed} from './stages.js';

/** How the users of requests are found. */
export interface Authentication {
  readonly authenticators: readonly Authenticator[];
  /** Absent if anonymous access is off. */
  readonly anonymous: Anonymous | undefined;
  /** Whether a connection of HTTP/2 ends with the first request on it that is anonymous or refused with 401. */
  readonly closesUnauthenticated?: boolean | undefined;
}

/** Finds the user of a request from its credentials, unless the in-process client vouches for it. Refuses with 401. */
export const withAuthentication =
  (
    authentication: Authentication,
    {metrics, clock, log}: {readonly metrics: AccessMetrics; readonly clock: Clock; readonly log: RequestLog | undefined},
  ): Filter<Timed, Identified> =>
  next =>
  timed => {
    const {caller} = timed.request;
    if ('user' in caller) return next(timed.identified(caller.user, caller.notes));
    const {times, info} = timed;
    const startedAt = clock.monotonic();
    const found = observe(
      () => userOf(authentication, timed),
      user => {
        if (isUnauthenticated(user)) closeConnection(authentication, timed);
        metrics.authenticated(user, startedAt);
        times.authenticationMs = clock.monotonic() - startedAt;
      },
      error => {
        closeConnection(authentication, timed);
        log?.notAuthenticated(info.path, error);
        metrics.notAuthenticated(error instanceof Unauthenticated && !error.hadCredentials ? 'failure' : 'error', startedAt);
      },
    );
    return andThen(found, user => next(timed.identified(user, undefined)));
  };

/** Connections of HTTP/2 are easily abused (CVE-2023-44487): a client that is not known gets one request on each. */
const closeConnection = ({closesUnauthenticated}: Authentication, {request, headers}: Timed): void => {
  if (closesUnauthenticated && request.isHttp2) headers['Connection'] = 'close';
};

const userOf = (
  {authenticators, anonymous}: Authentication,
  {request: {caller, headers}, info, warnings, trail}: Timed,
): Eventually<UserInfo> => {
  const {credentials} = caller as Extract<typeof caller, {credentials: unknown}>;
  const warn = (text: string) => void warnings.add(text);
  const annotate = trail && ((key: string, text: string) => trail.annotate(key, text));
  return authenticate(authenticators, anonymous, {credentials, headers, warn, ...(annotate ? {annotate} : {})}, info.path);
};
