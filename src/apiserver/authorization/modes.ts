// The authorizers without policy: allow all, deny all, privileged groups, and the union of several. The other modes are
// in rbac.ts, node/ and src/serving/authorizers.

import {andThen, firstResult, type Eventually} from '#src/base/eventually.js';
import {wellKnown, type UserInfo} from '#src/api/user.js';
import type {Attributes, Authorizer, Decision, UserRules} from '#src/api/authorization.js';

/** An authorizer that can list a user's permissions. */
export interface RuleLister {
  rulesFor(user: UserInfo, namespace: string): UserRules | Promise<UserRules>;
}

/** Allows everything to everyone. */
export const alwaysAllow: Authorizer & RuleLister = {
  authorize: () => ({decision: 'allow'}),
  rulesFor: () => ({
    resourceRules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*']}],
    nonResourceRules: [{verbs: ['*'], nonResourceURLs: ['*']}],
    incomplete: false,
  }),
};

/** Allows nothing to anyone. */
export const alwaysDeny: Authorizer & RuleLister = {
  authorize: () => ({decision: 'noOpinion', reason: 'Everything is forbidden.'}),
  rulesFor: () => ({resourceRules: [], nonResourceRules: [], incomplete: false}),
};

/** Whether a user may do anything, whatever the policy contains. */
export const isPrivileged = ({groups}: UserInfo): boolean => groups.includes(wellKnown.masters);

/** Allows everything to `system:masters`. Precedes all modes, so that no policy can lock out the administrator. */
export const privileged: Authorizer = {
  authorize: ({user}) => (isPrivileged(user) ? {decision: 'allow'} : {decision: 'noOpinion'}),
};

const aggregated = (errors: readonly string[]): string => {
  const distinct = [...new Set(errors)];
  return distinct.length === 1 ? distinct[0]! : `[${distinct.join(', ')}]`;
};

const undecided = (decisions: readonly Decision[]): Decision => {
  const reasons = decisions.flatMap(({reason}) => reason || []);
  const errors = decisions.flatMap(({error}) => error || []);
  return {
    decision: 'noOpinion',
    ...(reasons.length > 0 ? {reason: reasons.join('\n')} : {}),
    ...(errors.length > 0 ? {error: aggregated(errors)} : {}),
  };
};

/** Consults authorizers in order; the first to allow or deny decides. Awaits only promises. */
export const union = (authorizers: readonly Authorizer[]): Authorizer => {
  const authorize = (attributes: Attributes): Eventually<Decision> => {
    const before: Decision[] = [];
    const decided = (outcome: Decision): Decision | undefined => {
      if (outcome.decision !== 'noOpinion') return outcome;
      before.push(outcome);
      return undefined;
    };
    const first = firstResult(authorizers, authorizer => andThen(authorizer.authorize(attributes), decided));
    return andThen(first, found => found ?? undecided(before));
  };
  return {authorize};
};

/** The combined permissions that all of them list for a user. */
export const unionRules =
  (listers: readonly RuleLister[]) =>
  async (user: UserInfo, namespace: string): Promise<UserRules> => {
    const lists = await Promise.all(listers.map(lister => lister.rulesFor(user, namespace)));
    const errors = lists.flatMap(({error}) => error || []);
    return {
      resourceRules: lists.flatMap(({resourceRules}) => resourceRules),
      nonResourceRules: lists.flatMap(({nonResourceRules}) => nonResourceRules),
      incomplete: lists.some(({incomplete}) => incomplete),
      ...(errors.length > 0 ? {error: aggregated(errors)} : {}),
    };
  };
