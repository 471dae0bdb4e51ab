import {hostname} from 'node:os';
import type {Authenticator} from '#src/api/authentication.js';
import {jwtAuthenticator} from '#src/apiserver/authentication/jwt/authenticator.js';
import {Issuers} from '#src/apiserver/authentication/jwt/issuers.js';
import {jwtMetrics, reloadMetrics} from '#src/apiserver/authentication/jwt/metrics.js';
import {ReloadedIssuers} from '#src/apiserver/authentication/jwt/reload.js';
import {systemFiles} from '#src/base/files/files.js';
import {serverIdentity} from '#src/controlplane/identity-lease.js';
import {parseAuthentication, type ConfiguredAuthentication} from './jwt-authentication.js';
import type {TokenAuthenticatorParts} from './token-authenticators.js';

/** What authenticates the tokens of issuers. `start` begins to reach them, and to follow the configuration file. */
export interface JwtAuthentication {
  readonly authenticator: Authenticator;
  start(): void;
}

/** Returns the authenticator of the configured issuers. */
export const authenticatorOfIssuers = (configured: ConfiguredAuthentication, parts: TokenAuthenticatorParts): JwtAuthentication => {
  const issuers = configuredIssuers(configured, parts);
  return {authenticator: jwtAuthenticator(issuers), start: () => issuers.start()};
};

/** The issuers of the flags, or those of the file, which may change. */
const configuredIssuers = (
  configured: ConfiguredAuthentication,
  {options, naming, clock, log, meter, dial, signal}: TokenAuthenticatorParts,
): {readonly current: Issuers; start(): void} => {
  const metrics = jwtMetrics(meter);
  const issuersOf = ({authenticators, algorithms}: ConfiguredAuthentication) =>
    new Issuers(authenticators, {clock, log, dial, metrics, algorithms});
  const current = issuersOf(configured);
  const {text} = configured;
  if (text === undefined) {
    signal.addEventListener('abort', () => current.close(), {once: true});
    return {current, start: () => current.start()};
  }
  return new ReloadedIssuers({
    path: options.authenticationConfig,
    files: systemFiles,
    clock,
    log,
    metrics: reloadMetrics(meter, serverIdentity(hostname())),
    signal,
    text,
    current,
    parse: changed => issuersOf(parseAuthentication(changed, naming, options)),
  });
};
