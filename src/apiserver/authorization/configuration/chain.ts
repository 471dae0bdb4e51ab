// The chain of a server's authorizers, made from its settings: each counts its decisions, webhooks have connections of
// their own. A chain can be replaced by another while requests use it.

import {andThen, isPending} from '#src/base/eventually.js';
import type {Attributes, Authorizer, Decision, UserRules} from '#src/api/authorization.js';
import type {UserInfo} from '#src/api/user.js';
import type {Counter, Meter} from '#src/base/meter.js';
import {openReviewWebhook, type ReviewWebhook, type ReviewWebhookParts} from '#src/apiserver/backends/review-webhook.js';
import type {AuthorizerSettings, AuthorizerType} from './types.js';
import {alwaysAllow, alwaysDeny, privileged, union, unionRules, type RuleLister} from '#src/apiserver/authorization/modes.js';
import {WebhookAuthorizer} from '#src/apiserver/authorization/webhook/authorizer.js';
import {webhookMetrics} from '#src/apiserver/authorization/webhook/metrics.js';

type Listing = Authorizer & RuleLister;

/** The authorizers that last as long as the server; only those that it started with. */
export type LastingAuthorizers = Readonly<Partial<Record<'Node' | 'RBAC' | 'ABAC', Listing>>>;

export interface ChainParts extends ReviewWebhookParts {
  readonly meter: Meter;
  readonly lasting: LastingAuthorizers;
  /** What names the kubeconfig of a webhook in errors. */
  readonly flag: string;
}

/** Authorizers in their order. */
export interface Chain extends Authorizer {
  rulesFor(user: UserInfo, namespace: string): Promise<UserRules>;
  /** Closes the connections. */
  close(): Promise<void>;
}

/**
 * Opens a chain; `system:masters` are allowed before. Rejects with an error of one line when one of its authorizers
 * cannot be made.
 */
export const openChain = async (settings: readonly AuthorizerSettings[], parts: ChainParts): Promise<Chain> => {
  const webhooks: ReviewWebhook[] = [];
  const decisions = parts.meter.counter({
    name: 'apiserver_authorization_decisions_total',
    help: 'Total number of terminal decisions made by an authorizer split by authorizer type, name, and decision.',
    labels: ['type', 'name', 'decision'],
  });
  const close = async () => void (await Promise.all(webhooks.map(webhook => webhook[Symbol.asyncDispose]())));
  try {
    const listers: Listing[] = [];
    for (const one of settings) listers.push(await opened(one, parts, webhook => webhooks.push(webhook)));
    const counted = listers.map((authorizer, index) => counting(authorizer, settings[index]!, decisions));
    const {authorize} = union([privileged, ...counted]);
    return {authorize, rulesFor: unionRules(listers), close};
  } catch (error) {
    await close();
    throw error;
  }
};

/** The wait after a webhook's first failure. */
const firstWaitMs = 500;

const opened = async (settings: AuthorizerSettings, parts: ChainParts, keep: (webhook: ReviewWebhook) => void): Promise<Listing> => {
  switch (settings.type) {
    case 'AlwaysAllow':
      return alwaysAllow;
    case 'AlwaysDeny':
      return alwaysDeny;
    case 'Webhook': {
      const {kubeConfigFile: file, timeoutMs, ...options} = settings.webhook;
      const webhook = await openReviewWebhook({file, flag: parts.flag, timeoutMs, firstWaitMs}, parts);
      keep(webhook);
      return new WebhookAuthorizer({name: settings.name, ...options}, {...parts, webhook, metrics: webhookMetrics(parts.meter)});
    }
    default: {
      const lasting = parts.lasting[settings.type];
      if (!lasting) throw new Error(`authorizer type ${settings.type} is not allowed if it was not enabled at initial server startup`);
      return lasting;
    }
  }
};

/** Counts what an authorizer decides. */
const counting = (
  authorizer: Authorizer,
  {type, name}: {readonly type: AuthorizerType; readonly name: string},
  decisions: Counter,
): Authorizer => {
  const series = {allow: decisions.at({type, name, decision: 'allowed'}), deny: decisions.at({type, name, decision: 'denied'})};
  const counted = (decision: Decision): Decision => {
    if (decision.decision !== 'noOpinion') series[decision.decision].add();
    return decision;
  };
  return {
    authorize(attributes) {
      const outcome = authorizer.authorize(attributes);
      return andThen(outcome, counted);
    },
  };
};

/**
 * A chain that is replaced as a whole. One that was replaced is closed once the last request that began with it is
 * decided.
 */
export class ReplaceableChain implements Authorizer {
  #current: {readonly chain: Chain; pending: number};

  constructor(chain: Chain) {
    this.#current = {chain, pending: 0};
  }

  authorize(attributes: Attributes): Decision | Promise<Decision> {
    const used = this.#current;
    const outcome = used.chain.authorize(attributes);
    if (!isPending(outcome)) return outcome;
    used.pending++;
    return outcome.finally(() => {
      used.pending--;
      void this.#closeUnused(used);
    });
  }

  rulesFor(user: UserInfo, namespace: string): Promise<UserRules> {
    return this.#current.chain.rulesFor(user, namespace);
  }

  async replace(chain: Chain): Promise<void> {
    const before = this.#current;
    this.#current = {chain, pending: 0};
    await this.#closeUnused(before);
  }

  close(): Promise<void> {
    return this.#current.chain.close();
  }

  async #closeUnused(used: {readonly chain: Chain; readonly pending: number}): Promise<void> {
    if (used !== this.#current && used.pending === 0) await used.chain.close();
  }
}
