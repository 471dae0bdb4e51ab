import type {AnonymousSettings} from '#src/apiserver/authentication/jwt/configuration.js';
import type {JwtParts} from './jwt-authentication.js';
import type {IssuerParts, JwtAuthentication} from './jwt-issuers.js';

/** The configured issuers of tokens. */
export interface ConfiguredJwt {
  /** Which requests may be anonymous, if the configuration file says so. */
  readonly anonymous: AnonymousSettings | undefined;
  authenticator(parts: IssuerParts): JwtAuthentication;
}

/**
 * Reads the configured issuers; undefined if there are none. Loads the expression language and all else that they need
 * only then. Rejects with an error of one line that names the flag.
 */
export const configuredJwt = async (parts: JwtParts): Promise<ConfiguredJwt | undefined> => {
  const {options} = parts;
  if (!options.authenticationConfig && !options.oidcIssuerUrl) return undefined;
  const [{configuredAuthentication}, {authenticatorOfIssuers}] = await Promise.all([
    import('./jwt-authentication.js'),
    import('./jwt-issuers.js'),
  ]);
  const configured = configuredAuthentication(parts);
  return (
    configured && {
      anonymous: configured.configuration.anonymous,
      authenticator: more => authenticatorOfIssuers(configured, more),
    }
  );
};
