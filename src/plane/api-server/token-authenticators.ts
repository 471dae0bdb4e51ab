import type {Authenticator} from '#src/api/authentication.js';
import type {Naming} from '#src/api/naming.js';
import type {Reader} from '#src/api/reader.js';
import {bootstrapTokenAuthenticator} from '#src/apiserver/authentication/bootstrap-token.js';
import {jwtAuthenticator} from '#src/apiserver/authentication/jwt/authenticator.js';
import {Issuers} from '#src/apiserver/authentication/jwt/issuers.js';
import {jwtMetrics} from '#src/apiserver/authentication/jwt/metrics.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import type {Dial} from '#src/transport/dial.js';
import type {ConfiguredAuthentication} from './jwt-authentication.js';

export interface TokenAuthenticatorParts {
  readonly options: Pick<ApiserverOptions, 'enableBootstrapTokenAuth'>;
  /** The configured issuers; undefined if there are none. */
  readonly configured: ConfiguredAuthentication | undefined;
  readonly naming: Naming;
  readonly reader: Reader;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Meter;
  readonly dial: Dial;
  /** Ends the work in the background. */
  readonly signal: AbortSignal;
}

/** The authenticators of tokens besides those of service accounts, in the order in which they are tried. */
export interface TokenAuthenticators {
  readonly authenticators: readonly Authenticator[];
  /** Begins the work in the background: issuers are reached. */
  start(): void;
}

/** Returns the authenticators that the flags configure. */
export const tokenAuthenticators = (parts: TokenAuthenticatorParts): TokenAuthenticators => {
  const {options, configured} = parts;
  const issuers = configured && trustedIssuers(configured, parts);
  return {
    authenticators: [
      ...(options.enableBootstrapTokenAuth ? [bootstrapTokenAuthenticator(parts)] : []),
      ...(issuers ? [jwtAuthenticator({current: issuers})] : []),
    ],
    start: () => issuers?.start(),
  };
};

const trustedIssuers = (
  {authenticators, algorithms}: ConfiguredAuthentication,
  {clock, log, meter, dial, signal}: TokenAuthenticatorParts,
): Issuers => {
  const issuers = new Issuers(authenticators, {clock, log, dial, metrics: jwtMetrics(meter), algorithms});
  signal.addEventListener('abort', () => issuers.close(), {once: true});
  return issuers;
};
