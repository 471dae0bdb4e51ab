// Creates the authenticators of an API server from its flags, and the configuration that it publishes for extension
// servers. Every unusable file is reported in one line with its flag.

import {readFileSync} from 'node:fs';
import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Meter} from '#src/base/meter.js';
import type {Files} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import type {ActionContext} from '#src/resources/definition.js';
import type {Authenticator} from '#src/api/authentication.js';
import type {AnonymousSettings} from '#src/apiserver/authentication/jwt/configuration.js';
import {parseTokenFile, tokenFileAuthenticator} from '#src/apiserver/authentication/token-file.js';
import {bearerToken} from '#src/serving/authenticators/bearer.js';
import {anonymousUser, withAuthenticated, type Anonymous} from '#src/serving/authenticators/union.js';
import type {TrustAnchors} from '#src/pki/chain.js';
import {requestHeaderAuthenticator, type RequestHeaderTrust} from '#src/serving/authenticators/request-header.js';
import type {AuthenticationConfig} from '#src/controlplane/authentication-config.js';
import {followAuthorities, followTrust} from '#src/serving/authenticators/authority-file.js';
import {clientCertificateLifetimes, x509Authenticator} from '#src/serving/authenticators/x509.js';
import type {IdentityHeaders} from '#src/transport/identity-headers.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';

/** The options of authentication. */
export type AuthenticationOptions = Pick<
  ApiserverOptions,
  | 'anonymousAuth'
  | 'clientCaFile'
  | 'tokenAuthFile'
  | 'authorizationMode'
  | 'requestheaderClientCaFile'
  | 'requestheaderAllowedNames'
  | 'requestheaderUsernameHeaders'
  | 'requestheaderGroupHeaders'
  | 'requestheaderExtraHeadersPrefix'
  | 'requestheaderUidHeaders'
>;

/** Reads a file named by a flag. Throws an error of one line that names the flag and the cause. */
export const readFlagFile = (flag: string, path: string): Buffer => {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new Error(`--${flag}: ${(cause as Error).message}`, {cause});
  }
};

/** Parses a file's content. Throws an error of one line that names the flag, the file and the cause. */
export const explained = <T>(flag: string, path: string, read: () => T): T => {
  try {
    return read();
  } catch (cause) {
    throw new Error(`--${flag}: ${path}: ${(cause as Error).message}`, {cause});
  }
};

export interface AuthenticationParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly naming: Naming;
  readonly files: Files;
  /** Ends the following of files. */
  readonly signal: AbortSignal;
  /** Records what certificates authenticate. */
  readonly meter?: Meter | undefined;
  gate(name: string): boolean;
}

/**
 * Returns the configured authenticators in the order in which they are tried. The client CAs change when their file
 * does.
 */
export const authenticatorsOf = async (options: AuthenticationOptions, parts: AuthenticationParts): Promise<Authenticator[]> => {
  const authenticators: Authenticator[] = [];
  const {clock, naming, gate, meter} = parts;
  const lifetimes = meter && clientCertificateLifetimes(meter).at({});
  const {clientCaFile, tokenAuthFile, requestheaderClientCaFile} = options;
  if (requestheaderClientCaFile) {
    const file = {...parts, flag: '--requestheader-client-ca-file'};
    const trust = await followTrust(requestheaderClientCaFile, file, authorities => proxyTrust(options, authorities));
    authenticators.push(requestHeaderAuthenticator(trust, parts.clock));
  }
  if (clientCaFile) {
    const authorities = await followAuthorities(clientCaFile, {...parts, flag: '--client-ca-file'});
    authenticators.push(x509Authenticator(authorities, {clock, naming, withUid: gate('AllowParsingUserUIDFromCertAuth'), lifetimes}));
  }
  if (tokenAuthFile) {
    const text = readFlagFile('token-auth-file', tokenAuthFile).toString();
    authenticators.push(tokenFileAuthenticator(explained('token-auth-file', tokenAuthFile, () => parseTokenFile(text))));
  }
  return authenticators;
};

/** The proxies that are trusted with a certificate of these CAs. */
const proxyTrust = (options: AuthenticationOptions, authorities: TrustAnchors): RequestHeaderTrust => ({
  authorities,
  allowedNames: options.requestheaderAllowedNames,
  usernameHeaders: options.requestheaderUsernameHeaders,
  groupHeaders: options.requestheaderGroupHeaders,
  extraHeaderPrefixes: options.requestheaderExtraHeadersPrefix,
  uidHeaders: options.requestheaderUidHeaders,
});

/** The headers in which proxies state the user to this server. */
export const identityHeadersOf = (options: AuthenticationOptions): IdentityHeaders => ({
  names: [...options.requestheaderUsernameHeaders, ...options.requestheaderUidHeaders, ...options.requestheaderGroupHeaders],
  prefixes: options.requestheaderExtraHeadersPrefix,
});

/**
 * The published authentication configuration. Throws an error of one line that names the flag of an unreadable file.
 */
export const authenticationConfig = (options: AuthenticationOptions): AuthenticationConfig => {
  const {clientCaFile, requestheaderClientCaFile: proxyCaFile} = options;
  return {
    clientCa: clientCaFile ? readFlagFile('client-ca-file', clientCaFile).toString() : '',
    requestHeaderCa: proxyCaFile ? readFlagFile('requestheader-client-ca-file', proxyCaFile).toString() : '',
    allowedNames: options.requestheaderAllowedNames,
    usernameHeaders: options.requestheaderUsernameHeaders,
    groupHeaders: options.requestheaderGroupHeaders,
    extraHeaderPrefixes: options.requestheaderExtraHeadersPrefix,
    uidHeaders: options.requestheaderUidHeaders,
  };
};

/** Whether the flags configure any authentication of clients. */
export const authenticatesClients = ({
  clientCaFile,
  tokenAuthFile,
  requestheaderClientCaFile,
  serviceAccountKeyFile,
  authenticationConfig,
  oidcIssuerUrl,
  enableBootstrapTokenAuth,
  authenticationTokenWebhookConfigFile,
}: Pick<
  ApiserverOptions,
  | 'clientCaFile'
  | 'tokenAuthFile'
  | 'requestheaderClientCaFile'
  | 'serviceAccountKeyFile'
  | 'authenticationConfig'
  | 'oidcIssuerUrl'
  | 'enableBootstrapTokenAuth'
  | 'authenticationTokenWebhookConfigFile'
>): boolean =>
  [
    clientCaFile,
    tokenAuthFile,
    requestheaderClientCaFile,
    authenticationConfig,
    oidcIssuerUrl,
    enableBootstrapTokenAuth,
    authenticationTokenWebhookConfigFile,
    serviceAccountKeyFile.length > 0,
  ].some(Boolean);

/**
 * The anonymous user, if enabled by the flag or by the section of the configuration file, which may limit it to paths.
 * With AlwaysAllow it is disabled, with a warning.
 */
export const anonymousOf = (options: AuthenticationOptions, log: Log, section?: AnonymousSettings): Anonymous | undefined => {
  if (!(section?.enabled ?? options.anonymousAuth)) return undefined;
  if (!options.authorizationMode.includes('AlwaysAllow')) {
    const paths = section?.conditions?.map(({path}) => path) ?? [];
    return {allows: path => paths.length === 0 || paths.includes(path)};
  }
  log.warn(
    '--anonymous-auth is reset to false, because --authorization-mode=AlwaysAllow would let anonymous requests do everything: choose Node,RBAC, or set --anonymous-auth=false',
  );
  return undefined;
};

/** Joins several reasons, each once. */
const joinedReasons = (reasons: readonly string[]): string => {
  const [only, ...more] = [...new Set(reasons)];
  return more.length > 0 ? `[${[only, ...more].join(', ')}]` : (only ?? '');
};

/**
 * Authenticates a token for token reviews, with the same authenticators: for one of the requested audiences, or for
 * this server. A token without audiences is for this server.
 */
export const tokenAuthenticator =
  (authenticators: readonly Authenticator[], own: readonly string[], anonymous?: Anonymous): ActionContext['authenticateToken'] =>
  async (token, requestedAudiences) => {
    const audiences = requestedAudiences.length > 0 ? requestedAudiences : own;
    const request = {
      credentials: {certificates: []},
      headers: {authorization: `Bearer ${token}`},
      ...(audiences.length > 0 ? {audiences} : {}),
    };
    // A space before the token hides it, and what shows no token is anonymous.
    if (bearerToken(request) === '') return anonymous && {user: anonymousUser, audiences: [...audiences]};
    const reasons = ['invalid bearer token'];
    for (const authenticator of authenticators) {
      const found = await authenticator.authenticate(request);
      if (!found) continue;
      if ('rejected' in found) {
        reasons.push(found.rejected);
        continue;
      }
      const shared = found.audiences ?? own.filter(audience => audiences.includes(audience));
      if (shared.length === 0 && audiences.length > 0) continue;
      return {user: withAuthenticated(found.user), audiences: shared};
    }
    return {rejected: joinedReasons(reasons)};
  };
