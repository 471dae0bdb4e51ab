// The authentication of tokens of OpenID Connect issuers: from `--authentication-config`, or from the `--oidc-*` flags,
// which are a configuration of one issuer.

import type {Naming} from '#src/api/naming.js';
import {runSteps, type Steps} from '#src/base/steps.js';
import {combinedMessage} from '#src/apiserver/admission/request-kind.js';
import {
  readAuthenticationConfiguration,
  type AuthenticationConfiguration,
  type JwtAuthenticatorSettings,
} from '#src/apiserver/authentication/jwt/configuration.js';
import {validateAuthentication, type CompiledAuthenticator} from '#src/apiserver/authentication/jwt/validation.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import {explained, readFlagFile} from './authentication.js';

/** The options of JWT authentication. */
export type JwtOptions = Pick<
  ApiserverOptions,
  | 'authenticationConfig'
  | 'serviceAccountIssuer'
  | 'oidcIssuerUrl'
  | 'oidcClientId'
  | 'oidcCaFile'
  | 'oidcUsernameClaim'
  | 'oidcUsernamePrefix'
  | 'oidcGroupsClaim'
  | 'oidcGroupsPrefix'
  | 'oidcRequiredClaim'
  | 'oidcSigningAlgs'
>;

/** What a configuration is read with. */
export interface JwtParts {
  readonly options: JwtOptions;
  readonly naming: Naming;
  gate(name: string): boolean;
}

/** A valid configuration, with its expressions compiled. */
export interface ConfiguredAuthentication {
  readonly configuration: AuthenticationConfiguration;
  readonly authenticators: readonly CompiledAuthenticator[];
  /** The allowed signature algorithms. */
  readonly algorithms: readonly string[];
  /** The text of the configuration file, if it comes from one. */
  readonly text?: string;
}

/** The algorithms that a configuration file allows: all that are asymmetric. */
const allAlgorithms = ['ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512', 'RS256', 'RS384', 'RS512'] as const;

/** Parses and validates the text of the configuration file, in steps. Throws an error of one line. */
export const parseAuthentication = function* (text: string, parts: JwtParts): Steps<ConfiguredAuthentication> {
  const read = yield* valid(readAuthenticationConfiguration(text, parts.naming), parts);
  return {...read, algorithms: allAlgorithms, text};
};

const valid = function* (
  configuration: AuthenticationConfiguration,
  {options, gate}: JwtParts,
): Steps<Pick<ConfiguredAuthentication, 'configuration' | 'authenticators'>> {
  const {authenticators, errors} = yield* validateAuthentication(configuration, {
    disallowedIssuers: options.serviceAccountIssuer,
    allowsEgress: gate('StructuredAuthenticationConfigurationEgressSelector'),
  });
  if (errors.length > 0) throw new Error(combinedMessage(errors.map(({path, detail}) => `${path}: ${detail}`)));
  return {configuration, authenticators};
};

/**
 * The configuration of the flags; undefined if they configure nothing. Throws an error of one line that names the flag.
 */
export const configuredAuthentication = (parts: JwtParts): ConfiguredAuthentication | undefined => {
  const {options} = parts;
  const {authenticationConfig: file, oidcIssuerUrl, oidcSigningAlgs} = options;
  if (file) {
    const text = readFlagFile('authentication-config', file).toString();
    return explained('authentication-config', file, () => runSteps(parseAuthentication(text, parts)));
  }
  if (!oidcIssuerUrl) return undefined;
  try {
    return {...runSteps(valid({jwt: [settingsOfFlags(options)]}, parts)), algorithms: oidcSigningAlgs};
  } catch (cause) {
    throw new Error(`--oidc-issuer-url: ${(cause as Error).message}`, {cause});
  }
};

const settingsOfFlags = (options: JwtOptions): JwtAuthenticatorSettings => {
  const {oidcIssuerUrl: url, oidcClientId, oidcCaFile, oidcUsernameClaim, oidcUsernamePrefix, oidcGroupsClaim} = options;
  const certificateAuthority = oidcCaFile ? readFlagFile('oidc-ca-file', oidcCaFile).toString() : '';
  // Names that one issuer gives could be those of another: only addresses are unique by themselves.
  const unique = oidcUsernameClaim === 'email' ? '' : `${url}#`;
  const prefix = oidcUsernamePrefix === '-' ? '' : oidcUsernamePrefix || unique;
  return {
    issuer: {url, audiences: [oidcClientId], ...(certificateAuthority ? {certificateAuthority} : {})},
    claimMappings: {
      username: {claim: oidcUsernameClaim, prefix},
      ...(oidcGroupsClaim ? {groups: {claim: oidcGroupsClaim, prefix: options.oidcGroupsPrefix}} : {}),
    },
    claimValidationRules: [...options.oidcRequiredClaim].map(([claim, requiredValue]) => ({claim, requiredValue})),
  };
};
