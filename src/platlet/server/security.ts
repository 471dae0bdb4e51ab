// Authentication and authorization of requests to an agent: by client certificates and tokens, and by the API server.

import type {Authenticator} from '#src/api/authentication.js';
import type {Authorizer} from '#src/api/authorization.js';
import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Files} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import type {Settings} from '#src/platlet/config/fields.js';
import {anonymousEverywhere} from '#src/serving/administration/handler.js';
import {followAuthorities} from '#src/serving/authenticators/authority-file.js';
import {tokenReviewAuthenticator} from '#src/serving/authenticators/token-review.js';
import type {Anonymous} from '#src/serving/authenticators/union.js';
import {x509Authenticator} from '#src/serving/authenticators/x509.js';
import {accessReviewAuthorizer} from '#src/serving/authorizers/access-review.js';
import type {Delegate} from '#src/serving/delegation.js';

export interface AgentSecurityParts {
  readonly settings: Settings;
  /** Creates token and access reviews; undefined without an API server. */
  readonly delegate: Delegate | undefined;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly files: Files;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Whether the uid of a user is read from certificates. */
  readonly withUid: boolean;
}

export interface AgentSecurity {
  readonly authenticators: readonly Authenticator[];
  readonly anonymous: Anonymous | undefined;
  readonly authorizer: Authorizer;
}

/**
 * Returns the authentication and authorization of an agent's server. Rejects with a one-line error for invalid
 * settings.
 */
export const agentSecurity = async (parts: AgentSecurityParts): Promise<AgentSecurity> => {
  const {settings} = parts;
  return {
    authenticators: [...(await certificateAuthenticators(parts)), ...tokenAuthenticators(parts)],
    anonymous: settings['authentication.anonymous.enabled'] ? anonymousEverywhere : undefined,
    authorizer: authorizerOf(parts),
  };
};

const certificateAuthenticators = async ({
  settings,
  naming,
  clock,
  files,
  log,
  signal,
  withUid,
}: AgentSecurityParts): Promise<Authenticator[]> => {
  const file = settings['authentication.x509.clientCAFile'];
  if (!file) return [];
  try {
    const trusted = await followAuthorities(file, {files, clock, log, signal, flag: '--client-ca-file'});
    return [x509Authenticator(trusted, {clock, naming, withUid})];
  } catch (cause) {
    throw new Error(`unable to load client CA file ${file}: ${(cause as Error).message}`, {cause});
  }
};

const tokenAuthenticators = ({settings, delegate, clock, random}: AgentSecurityParts): Authenticator[] => {
  if (!settings['authentication.webhook.enabled']) return [];
  if (!delegate) throw new Error('no client provided, cannot use webhook authentication');
  return [tokenReviewAuthenticator(delegate, {clock, random, cacheTtlMs: settings['authentication.webhook.cacheTTL']})];
};

const authorizerOf = ({settings, delegate, clock, random}: AgentSecurityParts): Authorizer => {
  if (settings['authorization.mode'] === 'AlwaysAllow') return {authorize: () => ({decision: 'allow'})};
  if (!delegate) throw new Error('no client provided, cannot use webhook authorization');
  return accessReviewAuthorizer(delegate, {
    clock,
    random,
    allowedTtlMs: settings['authorization.webhook.cacheAuthorizedTTL'],
    deniedTtlMs: settings['authorization.webhook.cacheUnauthorizedTTL'],
  });
};
