import {wellKnown, type UserInfo} from '#src/api/user.js';
import {unauthorized} from '#src/api/status.js';
import type {Authentication, AuthenticationRequest, Authenticator} from '#src/api/authentication.js';

/** Who a request without any credential is; absent when there is no such thing. */
export interface Anonymous {
  /** Whether the path is open to the anonymous. */
  allows(path: string): boolean;
}

const anonymousUser: UserInfo = {name: wellKnown.anonymous, groups: [wellKnown.unauthenticated]};

/** Adds the group that everyone proven to be someone is in. */
export const withAuthenticated = (user: UserInfo): UserInfo =>
  user.name === wellKnown.anonymous || user.groups.includes(wellKnown.authenticated) || user.groups.includes(wellKnown.unauthenticated)
    ? user
    : {...user, groups: [...user.groups, wellKnown.authenticated]};

/**
 * Asks every authenticator in turn; the first success wins. A credential that nobody accepts is refused even where anonymous access is on.
 * Throws 401.
 */
export const authenticate = async (
  authenticators: readonly Authenticator[],
  anonymous: Anonymous | undefined,
  request: AuthenticationRequest,
  path: string,
): Promise<UserInfo> => {
  let rejected = false;
  for (const authenticator of authenticators) {
    const found: Authentication = await authenticator.authenticate(request);
    if (!found) continue;
    if ('user' in found) return withAuthenticated(found.user);
    rejected = true;
  }
  if (rejected || request.headers['authorization'] !== undefined || !anonymous?.allows(path)) throw unauthorized();
  return anonymousUser;
};
