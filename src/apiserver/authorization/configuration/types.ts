import type {MatchConditions} from '#src/apiserver/authorization/webhook/match-conditions.js';
import type {WebhookAuthorizerOptions} from '#src/apiserver/authorization/webhook/authorizer.js';

/** All modes, sorted. */
export const authorizerTypes = ['ABAC', 'AlwaysAllow', 'AlwaysDeny', 'Node', 'RBAC', 'Webhook'] as const;
export type AuthorizerType = (typeof authorizerTypes)[number];

/** One authorizer of a server, by its flags or its configuration file. */
export type AuthorizerSettings =
  | {readonly type: Exclude<AuthorizerType, 'Webhook'>; readonly name: string}
  | {readonly type: 'Webhook'; readonly name: string; readonly webhook: WebhookSettings};

/** A webhook and when it is asked. TTLs are 0 where decisions are not cached. */
export interface WebhookSettings extends Omit<WebhookAuthorizerOptions, 'name' | 'conditions'> {
  readonly kubeConfigFile: string;
  readonly timeoutMs: number;
  readonly conditions: MatchConditions | undefined;
}

/** The name of an authorizer that is not a webhook. */
export const nameOfType = (type: AuthorizerType): string => type.toLowerCase();

/** An AuthorizationConfiguration as it is written (API reference, apiserver.config). */
export interface RawConfiguration {
  readonly authorizers?: readonly RawAuthorizer[];
}

export interface RawAuthorizer {
  readonly type?: string;
  readonly name?: string;
  readonly webhook?: RawWebhook;
}

export interface RawWebhook {
  readonly authorizedTTL?: string;
  readonly cacheAuthorizedRequests?: boolean;
  readonly unauthorizedTTL?: string;
  readonly cacheUnauthorizedRequests?: boolean;
  readonly timeout?: string;
  readonly subjectAccessReviewVersion?: string;
  readonly matchConditionSubjectAccessReviewVersion?: string;
  readonly failurePolicy?: string;
  readonly connectionInfo?: {readonly type?: string; readonly kubeConfigFile?: string};
  readonly matchConditions?: readonly {readonly expression?: string}[];
}
