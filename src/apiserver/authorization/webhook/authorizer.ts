import type {Attributes, Authorizer, Decision} from '#src/api/authorization.js';
import type {Naming} from '#src/api/naming.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {andThen} from '#src/base/eventually.js';
import {RequestTurns} from '#src/apiserver/request/turns.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {ReviewResult, ReviewWebhook} from '#src/apiserver/backends/review-webhook.js';
import type {RuleLister} from '#src/apiserver/authorization/modes.js';
import {decisionOf, reviewSpec, type ReviewSpec} from '#src/serving/authorizers/review-spec.js';
import {ResultCache} from '#src/serving/delegation.js';
import {accessReview, reviewStatus, type AccessReviewVersion} from './access-review.js';
import type {MatchConditions} from './match-conditions.js';
import type {WebhookMetrics} from './metrics.js';

export interface WebhookAuthorizerOptions {
  /** The name in metrics. */
  readonly name: string;
  readonly version: AccessReviewVersion;
  /** How long decisions are cached; 0 disables it. */
  readonly allowedTtlMs: number;
  readonly deniedTtlMs: number;
  /** The decision when there is no valid response, or a condition fails. */
  readonly onFailure: 'noOpinion' | 'deny';
  /** Which requests the webhook is asked about; all by default. */
  readonly conditions?: MatchConditions | undefined;
}

export interface WebhookAuthorizerParts {
  readonly webhook: Pick<ReviewWebhook, 'post'>;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: WebhookMetrics;
}

/** The decisions of all webhooks. */
const bound = new CacheBound('webhook_decisions', 16 << 20);

/** Decisions on requests whose attributes are longer are not cached: they may be meant to fill the cache. */
const maxCachedBytes = 10_000;

/**
 * Authorizes by the SubjectAccessReviews of a webhook (the API reference, Webhook mode). Decisions are cached, failures
 * are not.
 */
export class WebhookAuthorizer implements Authorizer, RuleLister {
  readonly #options: WebhookAuthorizerOptions;
  readonly #parts: WebhookAuthorizerParts;
  readonly #cache: ResultCache<Decision>;

  constructor(options: WebhookAuthorizerOptions, parts: WebhookAuthorizerParts) {
    this.#options = options;
    this.#parts = parts;
    this.#cache = new ResultCache(bound, parts.clock, ({decision}) => (decision === 'allow' ? options.allowedTtlMs : options.deniedTtlMs));
  }

  authorize(attributes: Attributes): Decision | Promise<Decision> {
    const spec = reviewSpec(attributes);
    return andThen(this.#matches(spec, attributes), matched => this.#decide(matched, attributes, spec));
  }

  #decide(matched: boolean | string, attributes: Attributes, spec: ReviewSpec): Decision | Promise<Decision> {
    const {onFailure} = this.#options;
    if (typeof matched === 'string') return {decision: onFailure, error: matched};
    if (!matched) return {decision: 'noOpinion'};
    const asked = isCacheable(attributes) ? this.#cache.get(JSON.stringify(spec), () => this.#ask(spec)) : this.#ask(spec);
    return asked.catch((error: Error) => ({decision: onFailure, error: error.message}));
  }

  rulesFor() {
    return {resourceRules: [], nonResourceRules: [], incomplete: true, error: 'webhook authorizer does not support user rule resolution'};
  }

  /** Whether the webhook is asked, or the errors of the conditions. */
  #matches(spec: ReviewSpec, {user}: Attributes): boolean | string | Promise<boolean | string> {
    const {conditions, name} = this.#options;
    if (!conditions) return true;
    const {clock, metrics} = this.#parts;
    const labels = {type: 'Webhook', name};
    const startedAt = clock.monotonic();
    const known = (matched: boolean | string): boolean | string => {
      metrics.conditionSeconds.observe((clock.monotonic() - startedAt) / 1000, labels);
      if (typeof matched === 'string') metrics.conditionErrors.add(labels);
      else if (!matched) metrics.conditionExclusions.add(labels);
      return matched;
    };
    return andThen(new RequestTurns(clock, {user}).run(conditions.evaluate(spec)), known);
  }

  async #ask(spec: ReviewSpec): Promise<Decision> {
    const {webhook, naming, log, metrics} = this.#parts;
    const {name, version, onFailure} = this.#options;
    let last: ReviewResult = 'error';
    try {
      return await webhook.post(
        accessReview(spec, naming, version),
        response => checkedDecision(reviewStatus(response, naming, version)),
        (result, ms) => {
          last = result;
          metrics.evaluations.add({name, result});
          metrics.durations.observe(ms / 1000, {name, result});
        },
      );
    } catch (error) {
      log.error({authorizer: name, err: error}, 'failed to make webhook authorizer request');
      if (onFailure === 'noOpinion') metrics.failedOpen.add({name, result: last});
      throw error;
    }
  }
}

const checkedDecision = (status: ReturnType<typeof reviewStatus>): Decision => ({
  ...decisionOf(status),
  ...(status.allowed && status.denied ? {error: 'webhook subject access review returned both allow and deny response'} : {}),
});

const isCacheable = ({verb, resource, path}: Attributes): boolean => {
  const {namespace = '', group = '', version = '', resource: plural = '', subresource = '', name = ''} = resource ?? {};
  return Buffer.byteLength(namespace + verb + group + version + plural + subresource + name + path) < maxCachedBytes;
};
