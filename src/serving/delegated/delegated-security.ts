// Authentication and authorization of a component's own port by an API server: client certificates and proxies by the
// CAs it publishes, tokens and access by its reviews.

import type {Naming} from '#src/api/naming.js';
import {wellKnown} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import type {Files} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import type {TrustAnchors} from '#src/pki/chain.js';
import {type AdministrationSettings, anonymousEverywhere} from '#src/serving/administration/handler.js';
import {LookedUpTrust} from './authentication-lookup.js';
import type {Authenticator} from '#src/api/authentication.js';
import {followTrust} from '#src/serving/authenticators/authority-file.js';
import {type RequestHeaderTrust, requestHeaderAuthenticator} from '#src/serving/authenticators/request-header.js';
import {tokenReviewAuthenticator} from '#src/serving/authenticators/token-review.js';
import {x509Authenticator} from '#src/serving/authenticators/x509.js';
import type {Authorizer} from '#src/api/authorization.js';
import {accessReviewAuthorizer} from '#src/serving/authorizers/access-review.js';
import {groupAuthorizer, unionAuthorizer, pathAuthorizer} from '#src/serving/authorizers/always.js';
import type {Delegate} from '#src/serving/delegation.js';

/** The flags of a component that delegates authentication and authorization to an API server. Durations are in ms. */
export interface DelegatedSecurityFlags {
  readonly clientCaFile?: string | undefined;
  readonly requestheaderClientCaFile?: string | undefined;
  readonly requestheaderAllowedNames: readonly string[];
  readonly requestheaderUsernameHeaders: readonly string[];
  readonly requestheaderGroupHeaders: readonly string[];
  readonly requestheaderExtraHeadersPrefix: readonly string[];
  readonly requestheaderUidHeaders: readonly string[];
  readonly authenticationSkipLookup: boolean;
  readonly authenticationTolerateLookupFailure: boolean;
  readonly authenticationTokenWebhookCacheTtl: number;
  readonly authorizationAlwaysAllowPaths: readonly string[];
  readonly authorizationWebhookCacheAuthorizedTtl: number;
  readonly authorizationWebhookCacheUnauthorizedTtl: number;
}

export interface DelegatedSecurityParts {
  readonly flags: DelegatedSecurityFlags;
  /** Reviews tokens and provides the published CAs; absent without `--authentication-kubeconfig`. */
  readonly authentication: Delegate | undefined;
  /** Reviews access; absent without `--authorization-kubeconfig`. */
  readonly authorization: Delegate | undefined;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly files: Files;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Whether user UIDs are read from certificates (gate AllowParsingUserUIDFromCertAuth). */
  readonly withUid: boolean;
}

/** A value that may become available later. */
interface Trust {
  readonly clientAuthorities: () => TrustAnchors | undefined;
  readonly requestHeader: () => RequestHeaderTrust | undefined;
}

/**
 * The authentication and authorization of a component's own port. Without a delegate for authentication tokens are not
 * accepted and no CA is looked up; without one for authorization only the always allowed paths, and everything for
 * `system:masters`, are allowed.
 */
export const delegatedSecurity = async (
  parts: DelegatedSecurityParts,
): Promise<Pick<AdministrationSettings, 'authenticators' | 'anonymous' | 'authorizer'>> => ({
  authenticators: authenticatorsOf(parts, await trustOf(parts)),
  anonymous: anonymousEverywhere,
  authorizer: authorizerOf(parts),
});

const authenticatorsOf = (parts: DelegatedSecurityParts, trust: Trust): Authenticator[] => {
  const {flags, authentication, clock, naming, withUid} = parts;
  const headers = {
    get current() {
      return trust.requestHeader();
    },
  };
  return [
    requestHeaderAuthenticator(headers, clock),
    whenTrusted(trust.clientAuthorities, authorities => x509Authenticator(authorities, {clock, naming, withUid})),
    ...(authentication ? [tokenReviewAuthenticator(authentication, {...parts, cacheTtlMs: flags.authenticationTokenWebhookCacheTtl})] : []),
  ];
};

/** An authenticator of client certificates, which ignores them while there is no CA. */
export const whenTrusted = (
  authorities: () => TrustAnchors | undefined,
  make: (authorities: {readonly current: TrustAnchors}) => Authenticator,
): Authenticator => {
  const inner = make({
    get current() {
      return authorities()!;
    },
  });
  return {name: inner.name, authenticate: request => (authorities() ? inner.authenticate(request) : undefined)};
};

const authorizerOf = (parts: DelegatedSecurityParts): Authorizer => {
  const {flags, authorization} = parts;
  return unionAuthorizer([
    groupAuthorizer([wellKnown.masters]),
    pathAuthorizer(flags.authorizationAlwaysAllowPaths),
    ...(authorization
      ? [
          accessReviewAuthorizer(authorization, {
            ...parts,
            allowedTtlMs: flags.authorizationWebhookCacheAuthorizedTtl,
            deniedTtlMs: flags.authorizationWebhookCacheUnauthorizedTtl,
          }),
        ]
      : []),
  ]);
};

const trustOf = async (parts: DelegatedSecurityParts): Promise<Trust> => {
  const {flags} = parts;
  const [client, proxies] = await Promise.all([
    fromFile(parts, '--client-ca-file', flags.clientCaFile, authorities => authorities),
    fromFile(parts, '--requestheader-client-ca-file', flags.requestheaderClientCaFile, authorities => proxyTrust(flags, authorities)),
  ]);
  const looked = client && proxies ? undefined : await lookedUp(parts);
  return {
    clientAuthorities: client ? () => client.current : () => looked?.current.clientAuthorities,
    requestHeader: proxies ? () => proxies.current : () => looked?.current.requestHeader,
  };
};

const fromFile = <T>(
  parts: DelegatedSecurityParts,
  flag: string,
  path: string | undefined,
  made: (authorities: TrustAnchors) => T,
): Promise<{readonly current: T}> | undefined => (path ? followTrust(path, {...parts, flag}, made) : undefined);

/** The proxies of the flags, trusted with a certificate of these CAs. */
const proxyTrust = (flags: DelegatedSecurityFlags, authorities: TrustAnchors): RequestHeaderTrust => ({
  authorities,
  allowedNames: flags.requestheaderAllowedNames,
  usernameHeaders: flags.requestheaderUsernameHeaders,
  groupHeaders: flags.requestheaderGroupHeaders,
  extraHeaderPrefixes: flags.requestheaderExtraHeadersPrefix,
  uidHeaders: flags.requestheaderUidHeaders,
});

const lookedUp = async ({flags, authentication, log, ...rest}: DelegatedSecurityParts): Promise<LookedUpTrust | undefined> => {
  if (!authentication || flags.authenticationSkipLookup) return undefined;
  try {
    const trust = await LookedUpTrust.load(authentication);
    trust.follow(authentication, {log, ...rest});
    return trust;
  } catch (error) {
    if (!flags.authenticationTolerateLookupFailure) throw error;
    log.warn({err: error}, 'continuing without authentication configuration: all requests may be treated as anonymous');
    return undefined;
  }
};
