// Authentication of a request by several authenticators, and the anonymous user. A request ends up with a user or with
// an `Unauthenticated` error.

import {andThen, firstResult, type Eventually} from '#src/base/eventually.js';
import {wellKnown, type UserInfo} from '#src/api/user.js';
import {StatusError, unauthorized} from '#src/api/status.js';
import type {Authentication, AuthenticationRequest, Authenticator} from '#src/api/authentication.js';
import {bearerToken, hasMisplacedToken} from './bearer.js';

/** The user of requests without credentials; absent if anonymous access is off. */
export interface Anonymous {
  /** Whether anonymous requests are allowed on the path. */
  allows(path: string): boolean;
}

/** The 401 of a request that no authenticator accepted. */
export class Unauthenticated extends StatusError {
  /** Whether there were credentials, which were not accepted. */
  readonly hadCredentials: boolean;
  /** Why they were not accepted, for the log: clients do not learn it. */
  readonly reasons: readonly string[];

  constructor(hadCredentials: boolean, reasons: readonly string[]) {
    super(unauthorized().status);
    this.hadCredentials = hadCredentials;
    this.reasons = reasons;
  }
}

/** The user of a request without credentials. */
export const anonymousUser: UserInfo = {name: wellKnown.anonymous, groups: [wellKnown.unauthenticated]};

/** Whether it is a user of whom nothing is known. */
export const isUnauthenticated = ({name, groups}: UserInfo): boolean =>
  name === wellKnown.anonymous || groups.includes(wellKnown.unauthenticated);

/** Adds the group of authenticated users. Returns the same object for the same user. */
export const withAuthenticated = (user: UserInfo): UserInfo => {
  if (isUnauthenticated(user) || user.groups.includes(wellKnown.authenticated)) return user;
  let completed = completedUsers.get(user);
  if (!completed) completedUsers.set(user, (completed = {...user, groups: [...user.groups, wellKnown.authenticated]}));
  return completed;
};

const completedUsers = new WeakMap<UserInfo, UserInfo>();

const isUnknownToken = (authenticators: readonly Authenticator[], request: AuthenticationRequest): boolean =>
  bearerToken(request) !== '' && authenticators.some(({takesTokens}) => takesTokens);

/**
 * Consults the authenticators in order; the first success decides. Credentials that none accepts are refused even where
 * anonymous access is on. A header without a bearer token is no credential, and neither is a token if no authenticator
 * takes tokens. Throws `Unauthenticated`. Returns a promise only where needed.
 */
export const authenticate = (
  authenticators: readonly Authenticator[],
  anonymous: Anonymous | undefined,
  request: AuthenticationRequest,
  path: string,
): Eventually<UserInfo> => {
  const reasons: string[] = [];
  const first = firstResult(authenticators, authenticator =>
    andThen(authenticator.authenticate(request), found => accepted(found, reasons)),
  );
  return andThen(first, user => user ?? withoutUser({authenticators, anonymous, request, path, reasons}));
};

/** An authentication that no authenticator has accepted. */
interface Consultation {
  readonly authenticators: readonly Authenticator[];
  readonly anonymous: Anonymous | undefined;
  readonly request: AuthenticationRequest;
  readonly path: string;
  /** Why credentials were rejected so far. */
  readonly reasons: string[];
}

const accepted = (found: Authentication, reasons: string[]): UserInfo | undefined => {
  if (!found) return undefined;
  if ('user' in found) return withAuthenticated(found.user);
  reasons.push(found.rejected);
  return undefined;
};

/** The anonymous user, if the request may have that. */
const withoutUser = ({authenticators, anonymous, request, path, reasons}: Consultation): UserInfo => {
  if (hasMisplacedToken(request))
    request.warn?.('the provided Authorization header contains extra space before the bearer token, and is ignored');
  if (reasons.length === 0 && isUnknownToken(authenticators, request)) reasons.push('invalid bearer token');
  const hadCredentials = reasons.length > 0;
  if (hadCredentials || !anonymous?.allows(path)) throw new Unauthenticated(hadCredentials, reasons);
  return anonymousUser;
};
