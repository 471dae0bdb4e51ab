// Webhooks that an API server asks who a user is (TokenReview) and what a user may do (SubjectAccessReview).

import {kinds, type Kind} from '#src/api/kinds/index.js';
import {badRequest} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {isPlainObject} from '#src/schema/decode/plain.js';
import type {Webhook} from './admission.js';
import {isRepeatable, type ReceivedReview} from './received-review.js';

/** A user, as an API server knows it. */
export interface AuthenticatedUser {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** The request for authentication. */
export interface AuthenticationRequest {
  readonly token: string;
  /** The audiences of which the token must be for at least one; empty if the API server is configured with none. */
  readonly audiences: readonly string[];
  /** Aborts when the caller stops waiting. */
  readonly signal: AbortSignal;
}

/** A user with the audiences of the token. A webhook that knows no audiences leaves them out. */
export type Authenticated = AuthenticatedUser & {readonly audiences?: readonly string[]};

/** The request for a decision: what a user wants to do with a resource, or with a path that is no resource. */
export interface AuthorizationRequest {
  readonly user: Required<AuthenticatedUser>;
  /** Exactly one of both is set. */
  readonly resource: ResourceAccess | undefined;
  readonly path: {readonly path: string; readonly verb: string} | undefined;
  readonly signal: AbortSignal;
}

/** Access to a resource. Parts that a request does not have are empty. */
export interface ResourceAccess {
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  /** Empty for cluster-scoped resources, and for requests in all namespaces. */
  readonly namespace: string;
  readonly name: string;
  /** The selectors of a list, a watch or a deletion of a collection. */
  readonly fieldSelector?: AccessSelector;
  readonly labelSelector?: AccessSelector;
}

/** A selector of a request: its requirements if it could be parsed, otherwise its text. */
export interface AccessSelector {
  readonly rawSelector?: string;
  readonly requirements?: readonly {readonly key: string; readonly operator: string; readonly values?: readonly string[]}[];
}

/**
 * A decision. Not allowed means no opinion: the API server asks its next authorizer. Denied means that none is asked.
 */
export type AuthorizationDecision =
  | {readonly allowed: true; readonly reason?: string}
  | {readonly allowed: false; readonly denied?: boolean; readonly reason?: string};

/** The answer to a review, and the error if its handler failed. */
interface ReviewStatus {
  readonly status: object;
  readonly error?: unknown;
}

/** A webhook that answers reviews of one kind. */
export interface AccessWebhook extends Webhook {
  readonly type: 'authenticating' | 'authorizing';
  /** Throws a `StatusError` if the review is invalid. */
  answer(spec: Record<string, unknown>, signal: AbortSignal): Promise<ReviewStatus>;
}

/** Whether a webhook answers reviews of tokens or of access. */
export const isAccessWebhook = (webhook: Webhook): webhook is AccessWebhook =>
  webhook.type === 'authenticating' || webhook.type === 'authorizing';

/** The paths of these webhooks. */
export const accessPaths = {authenticating: '/authenticate', authorizing: '/authorize'} as const;

/** What the API server is told of an error, which may contain secrets. */
const failed = 'the webhook failed on this request: see the log of the operator';

/**
 * Authenticates the tokens of an API server with `--authentication-token-webhook-config-file`: `authenticate` returns
 * the user of a token, or undefined for one that it does not know. It is served at `/authenticate`.
 *
 *     authenticating(async ({token}) => {
 *       const session = await sessions.find(token);
 *       return session && {username: session.user, groups: session.teams};
 *     });
 */
export const authenticating = (
  authenticate: (request: AuthenticationRequest) => Authenticated | undefined | Promise<Authenticated | undefined>,
): Webhook => {
  const webhook: AccessWebhook = {
    type: 'authenticating',
    kind: kinds.tokenReviews as Kind,
    async answer({token, audiences}, signal) {
      if (typeof token !== 'string' || token === '') throw badRequest('the TokenReview has no token');
      try {
        const found = await authenticate({token, audiences: textsOf(audiences), signal});
        if (!found) return {status: {authenticated: false}};
        const {audiences: valid, username, uid, groups, extra} = found;
        if (!username) throw new Error('the user of a token has no name');
        return {status: {authenticated: true, user: {username, uid, groups, extra}, audiences: valid}};
      } catch (error) {
        return {error, status: {authenticated: false, error: failed}};
      }
    },
  };
  return webhook;
};

/**
 * Authorizes the requests to an API server with `--authorization-webhook-config-file`: `authorize` returns a decision,
 * or undefined for no opinion. It is served at `/authorize`.
 *
 *     authorizing(({user, resource}) => {
 *       if (resource?.resource === 'secrets' && !user.groups.includes('keepers')) return {allowed: false, denied: true};
 *     });
 */
export const authorizing = (
  authorize: (request: AuthorizationRequest) => AuthorizationDecision | void | Promise<AuthorizationDecision | void>,
): Webhook => {
  const webhook: AccessWebhook = {
    type: 'authorizing',
    kind: kinds.subjectAccessReviews as Kind,
    async answer(spec, signal) {
      const request = {...accessOf(spec), signal};
      try {
        const {allowed, reason, denied} = {denied: false, ...((await authorize(request)) ?? {allowed: false})};
        if (allowed && denied) throw new Error('a decision is both allowed and denied');
        return {status: {allowed, ...(denied ? {denied} : {}), reason}};
      } catch (error) {
        return {error, status: {allowed: false, evaluationError: failed}};
      }
    },
  };
  return webhook;
};

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const textsOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(textOf) : []);

/** Returns what a SubjectAccessReview asks. In v1beta1 the groups are in `group`. */
const accessOf = (spec: Record<string, unknown>): Omit<AuthorizationRequest, 'signal'> => {
  const {resourceAttributes: resource, nonResourceAttributes: path} = spec;
  if (isPlainObject(resource) === isPlainObject(path))
    throw badRequest('the SubjectAccessReview has not exactly one of resourceAttributes and nonResourceAttributes');
  const extra = isPlainObject(spec['extra']) ? Object.entries(spec['extra']).map(([key, values]) => [key, textsOf(values)] as const) : [];
  const user = {
    username: textOf(spec['user']),
    uid: textOf(spec['uid']),
    groups: textsOf(spec['groups'] ?? spec['group']),
    extra: Object.fromEntries(extra),
  };
  if (isPlainObject(path)) return {user, resource: undefined, path: {path: textOf(path['path']), verb: textOf(path['verb'])}};
  return {user, path: undefined, resource: resourceAccessOf(resource as Record<string, unknown>)};
};

const resourceAccessOf = (given: Record<string, unknown>): ResourceAccess => {
  const {fieldSelector, labelSelector} = given;
  return {
    verb: textOf(given['verb']),
    group: textOf(given['group']),
    version: textOf(given['version']),
    resource: textOf(given['resource']),
    subresource: textOf(given['subresource']),
    namespace: textOf(given['namespace']),
    name: textOf(given['name']),
    ...(isPlainObject(fieldSelector) ? {fieldSelector: fieldSelector as AccessSelector} : {}),
    ...(isPlainObject(labelSelector) ? {labelSelector: labelSelector as AccessSelector} : {}),
  };
};

/** Answers a review in the version that it has. Throws a `StatusError` for an invalid body. */
export const answerAccessReview = async (
  webhook: AccessWebhook,
  received: ReceivedReview,
  signal: AbortSignal,
): Promise<{readonly review: object; readonly error?: unknown}> => {
  const {apiVersion, kind, spec} = ((await received.parse()) ?? {}) as KubeObject & {readonly spec?: unknown};
  if (kind !== webhook.kind.kind || !isRepeatable(apiVersion) || !isPlainObject(spec))
    throw badRequest(`the body is not a ${webhook.kind.kind} with a spec`);
  const {status, error} = await webhook.answer(spec, signal);
  return {review: {apiVersion, kind, status}, ...(error === undefined ? {} : {error})};
};
