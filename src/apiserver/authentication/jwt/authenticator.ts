import type {Authenticator} from '#src/api/authentication.js';
import {bearerToken} from '#src/serving/authenticators/bearer.js';
import type {Issuers} from './issuers.js';

/** Authenticates the tokens of OpenID Connect issuers. The issuers are those of the configuration in force. */
export const jwtAuthenticator = (configured: {readonly current: Issuers}): Authenticator => ({
  name: 'jwt',
  takesTokens: true,
  authenticate(request) {
    const token = bearerToken(request);
    return token ? configured.current.authenticate(token) : undefined;
  },
});
