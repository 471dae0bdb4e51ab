import type {Authentication, AuthenticationRequest, Authenticator} from '#src/api/authentication.js';
import type {Naming} from '#src/api/naming.js';
import type {TokenReview} from '#src/api/types.js';
import {CacheBound} from '#src/base/cache-bound.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import {bearerToken} from '#src/serving/authenticators/bearer.js';
import {TokenCache} from './token-cache.js';
import type {ReviewWebhook} from '#src/apiserver/backends/review-webhook.js';

export interface WebhookTokenOptions {
  readonly naming: Naming;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Meter;
  /** Where reviews are posted. */
  readonly webhook: Pick<ReviewWebhook, 'post'>;
  /** The version of the TokenReview that is exchanged. */
  readonly version: 'v1' | 'v1beta1';
  readonly cacheTtlMs: number;
  /** The audiences of this server. */
  readonly audiences: readonly string[];
}

const bound = new CacheBound('webhook_token_reviews', 16 << 20);

/** The webhook refused a token and said why: such an answer is not cached. */
class Refused extends Error {}

/** The time limit of a review, and the wait before it is posted a second time. */
export const tokenWebhookTimes = {timeoutMs: 30_000, firstWaitMs: 500};

/**
 * Authenticates bearer tokens by a webhook that answers TokenReviews. Answers are cached whether they accept a token or
 * not; failures are not.
 */
export const webhookTokenAuthenticator = (options: WebhookTokenOptions): Authenticator => {
  const {naming, clock, log, meter, webhook, version, cacheTtlMs, audiences} = options;
  const apiVersion = naming.apiVersion('authentication', version);
  const cache = new TokenCache<Authentication | null>({bound, clock, meter, ttlMs: cacheTtlMs});

  const reviewed = async (token: string, wanted: readonly string[]): Promise<Authentication | null> => {
    const spec = {token, ...(wanted.length > 0 ? {audiences: wanted} : {})};
    const body = {apiVersion, kind: 'TokenReview', metadata: {}, spec, status: {user: {}}};
    const response = await webhook
      .post(body, response => answerIn(response, apiVersion))
      .catch((error: unknown) => {
        log.error({err: error}, 'the webhook that authenticates tokens failed');
        throw error;
      });
    return verdict(response, wanted, audiences);
  };

  const authenticate = async (token: string, {audiences: named = audiences}: AuthenticationRequest): Promise<Authentication> => {
    try {
      return (await cache.get(token, named, () => reviewed(token, named))) ?? undefined;
    } catch (error) {
      return {rejected: (error as Error).message};
    }
  };

  return {
    name: 'webhook',
    takesTokens: true,
    authenticate(given) {
      const token = bearerToken(given);
      return token ? authenticate(token, given) : undefined;
    },
  };
};

const answerIn = (response: PlainObject, apiVersion: string): TokenReview => {
  if (response['kind'] === 'TokenReview' && response['apiVersion'] === apiVersion) return response as TokenReview;
  throw new Error(`the webhook's answer is not a TokenReview of ${apiVersion}`);
};

const textsIn = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];

const extraIn = (value: unknown): Record<string, string[]> | undefined =>
  isPlainObject(value)
    ? Object.fromEntries(Object.entries(value).flatMap(([key, texts]) => (key === '__proto__' ? [] : [[key, textsIn(texts)]])))
    : undefined;

/** The user that the webhook named; null if it does not know the token, or not for a wanted audience. */
const verdict = ({status}: TokenReview, wanted: readonly string[], own: readonly string[]): Authentication | null => {
  const granted = textsIn(status?.audiences);
  const shared = (granted.length > 0 ? granted : own).filter(audience => wanted.includes(audience));
  if (wanted.length > 0 && shared.length === 0) return null;
  if (status?.authenticated !== true) {
    if (status?.error) throw new Refused(String(status.error));
    return null;
  }
  const {username, uid, groups, extra} = status.user ?? {};
  if (typeof username !== 'string' || !username) throw new Refused('the webhook named no user');
  const found = extraIn(extra);
  return {
    user: {name: username, ...(typeof uid === 'string' && uid ? {uid} : {}), groups: textsIn(groups), ...(found ? {extra: found} : {})},
    ...(wanted.length > 0 ? {audiences: shared} : {}),
  };
};
