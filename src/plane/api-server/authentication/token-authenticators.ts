import type {Authenticator} from '#src/api/authentication.js';
import type {Naming} from '#src/api/naming.js';
import type {Reader} from '#src/api/reader.js';
import {bootstrapTokenAuthenticator} from '#src/apiserver/authentication/bootstrap-token.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import {openReviewWebhook, type ReviewWebhook, type ReviewWebhookParts} from '#src/apiserver/backends/review-webhook.js';
import {tokenWebhookTimes, webhookTokenAuthenticator} from '#src/apiserver/authentication/webhook-token.js';
import type {Random} from '#src/base/random.js';
import type {Egress} from '#src/plane/outgoing/egress.js';
import type {ConfiguredJwt} from './configured-jwt.js';
import type {JwtOptions} from './jwt-authentication.js';

/** The options of these authenticators. */
export type TokenOptions = JwtOptions &
  Pick<
    ApiserverOptions,
    | 'enableBootstrapTokenAuth'
    | 'authenticationTokenWebhookConfigFile'
    | 'authenticationTokenWebhookVersion'
    | 'authenticationTokenWebhookCacheTtl'
  >;

export interface TokenAuthenticatorParts {
  readonly options: TokenOptions;
  /** The configured issuers; undefined if there are none. */
  readonly configured: ConfiguredJwt | undefined;
  /** The webhook that authenticates tokens. */
  readonly webhook: ReviewWebhook | undefined;
  /** The audiences of this server. */
  readonly audiences: readonly string[];
  readonly naming: Naming;
  readonly reader: Reader;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  readonly egress: Egress;
  gate(name: string): boolean;
  /** Ends the work in the background. */
  readonly signal: AbortSignal;
}

/** The authenticators of tokens besides those of service accounts, in the order in which they are tried. */
export interface TokenAuthenticators {
  readonly authenticators: readonly Authenticator[];
  /** Begins the work in the background: issuers are reached, and the configuration file is followed. */
  start(): void;
}

/**
 * Opens the webhook that authenticates tokens, if there is one. Rejects with an error of one line that names the flag.
 */
export const openTokenWebhook = async (
  {authenticationTokenWebhookConfigFile: file}: TokenOptions,
  parts: ReviewWebhookParts,
): Promise<ReviewWebhook | undefined> => {
  const flag = '--authentication-token-webhook-config-file';
  return file ? openReviewWebhook({file, flag, ...tokenWebhookTimes}, parts) : undefined;
};

/** Returns the authenticators that the flags configure. */
export const tokenAuthenticators = (parts: TokenAuthenticatorParts): TokenAuthenticators => {
  const {options, configured, webhook} = parts;
  const jwt = configured?.authenticator(parts);
  return {
    authenticators: [
      ...(options.enableBootstrapTokenAuth ? [bootstrapTokenAuthenticator(parts)] : []),
      ...(jwt ? [jwt.authenticator] : []),
      ...(webhook
        ? [
            webhookTokenAuthenticator({
              ...parts,
              webhook,
              version: options.authenticationTokenWebhookVersion,
              cacheTtlMs: options.authenticationTokenWebhookCacheTtl,
            }),
          ]
        : []),
    ],
    start: () => jwt?.start(),
  };
};
