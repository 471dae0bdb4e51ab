import {hostname} from 'node:os';
import type {Authenticator} from '#src/api/authentication.js';
import {jwtAuthenticator} from '#src/apiserver/authentication/jwt/authenticator.js';
import {Issuers} from '#src/apiserver/authentication/jwt/issuers.js';
import {jwtMetrics} from '#src/apiserver/authentication/jwt/metrics.js';
import {reloadMetrics} from '#src/apiserver/configuration/reload-metrics.js';
import {ReloadedIssuers} from '#src/apiserver/authentication/jwt/reload.js';
import type {EgressName} from '#src/apiserver/configuration/egress.js';
import type {Dial} from '#src/transport/dial.js';
import {systemFiles} from '#src/base/files/files.js';
import {serverIdentity} from '#src/controlplane/identity-lease.js';
import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Egress} from '#src/plane/outgoing/egress.js';
import {parseAuthentication, type ConfiguredAuthentication, type JwtOptions} from './jwt-authentication.js';

/** The dependencies of the authentication by issuers. */
export interface IssuerParts {
  readonly options: JwtOptions;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Meter;
  readonly egress: Egress;
  gate(name: string): boolean;
  /** Ends the work in the background. */
  readonly signal: AbortSignal;
}

/** What authenticates the tokens of issuers. `start` begins to reach them, and to follow the configuration file. */
export interface JwtAuthentication {
  readonly authenticator: Authenticator;
  start(): void;
}

/** Returns the authenticator of the configured issuers. */
export const authenticatorOfIssuers = (configured: ConfiguredAuthentication, parts: IssuerParts): JwtAuthentication => {
  const issuers = configuredIssuers(configured, parts);
  return {authenticator: jwtAuthenticator(issuers), start: () => issuers.start()};
};

/**
 * Returns the dialer of an issuer. Throws for a network whose connections are not configured: the issuer would be
 * reached another way than intended.
 */
const dialFor = (egress: Egress, type: string): Dial => {
  if (type === '') return egress.dial('direct');
  const name = type as EgressName;
  if (!egress.isConfigured(name)) throw new Error(`oidc: egress lookup for ${JSON.stringify(type)} is not configured`);
  return egress.dial(name);
};

/** The issuers of the flags, or those of the file, which may change. */
const configuredIssuers = (
  configured: ConfiguredAuthentication,
  {options, naming, clock, log, meter, egress, signal, gate}: IssuerParts,
): {readonly current: Issuers; start(): void} => {
  const server = serverIdentity(hostname());
  const metrics = jwtMetrics({meter, clock, server, keySets: gate('StructuredAuthenticationConfigurationJWKSMetrics')});
  const issuersOf = ({authenticators, algorithms}: ConfiguredAuthentication) =>
    new Issuers(authenticators, {clock, log, dialFor: type => dialFor(egress, type), metrics, meter, algorithms});
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
    metrics: reloadMetrics({subject: 'authentication', server, meter, clock}),
    signal,
    text,
    current,
    *parse(changed) {
      return issuersOf(yield* parseAuthentication(changed, {options, naming, gate}));
    },
  });
};
