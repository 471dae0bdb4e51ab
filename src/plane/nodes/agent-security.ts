import type {Authenticator} from '#src/api/authentication.js';
import type {Authorizer} from '#src/api/authorization.js';
import {systemFiles} from '#src/base/files/files.js';
import {messageOf} from '#src/base/message.js';
import type {TrustAnchors} from '#src/pki/chain.js';
import {LookedUpTrust} from '#src/serving/delegated/authentication-lookup.js';
import {followAuthorities} from '#src/serving/authenticators/authority-file.js';
import {tokenReviewAuthenticator} from '#src/serving/authenticators/token-review.js';
import {x509Authenticator} from '#src/serving/authenticators/x509.js';
import {accessReviewAuthorizer} from '#src/serving/authorizers/access-review.js';
import {whenTrusted, type DelegatedSecurityParts} from '#src/serving/delegated/delegated-security.js';
import type {Delegate} from '#src/serving/delegation.js';

export interface AgentSecurityParts extends Pick<DelegatedSecurityParts, 'naming' | 'clock' | 'random' | 'log' | 'signal'> {
  /** The cluster that reviews tokens and access. */
  readonly delegate: Delegate;
  /** The file of the CAs of client certificates; by default those that the cluster publishes. */
  readonly clientCaFile?: string;
}

/** The cache durations of reviews, as of upstream's node agents. */
const tokenTtlMs = 120_000;
const allowedTtlMs = 300_000;
const deniedTtlMs = 30_000;

/**
 * Authentication and authorization of node agents: by client certificate or token, and by access reviews of the
 * cluster. Anonymous access is off.
 */
export const agentSecurity = async (
  parts: AgentSecurityParts,
): Promise<{readonly authenticators: readonly Authenticator[]; readonly authorizer: Authorizer}> => {
  const {delegate, naming, clock, random} = parts;
  const authorities = await authoritiesOf(parts);
  return {
    authenticators: [
      whenTrusted(authorities, trusted => x509Authenticator(trusted, {clock, naming, withUid: false})),
      tokenReviewAuthenticator(delegate, {clock, random, cacheTtlMs: tokenTtlMs}),
    ],
    authorizer: accessReviewAuthorizer(delegate, {clock, random, allowedTtlMs, deniedTtlMs}),
  };
};

const authoritiesOf = async ({clientCaFile, delegate, clock, log, signal}: AgentSecurityParts): Promise<() => TrustAnchors | undefined> => {
  if (clientCaFile) {
    const held = await followAuthorities(clientCaFile, {files: systemFiles, clock, log, signal, flag: '--client-ca-file'});
    return () => held.current;
  }
  try {
    const trust = await LookedUpTrust.load(delegate);
    trust.follow(delegate, {clock, log, signal});
    return () => trust.current.clientAuthorities;
  } catch (error) {
    log.warn(
      `client certificates prove nobody to the nodes, so that kubectl logs and exec are refused: give --client-ca-file, or see to this: ${messageOf(error)}`,
    );
    return () => undefined;
  }
};
