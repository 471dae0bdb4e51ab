import type {Authorizer, Decision} from '#src/api/authorization.js';

const allow: Decision = {decision: 'allow'};
const noOpinion: Decision = {decision: 'noOpinion'};

/**
 * Consults authorizers in order; the first that allows or denies decides. The reasons of those without an opinion are
 * joined.
 */
export const unionAuthorizer = (authorizers: readonly Authorizer[]): Authorizer => ({
  async authorize(attributes) {
    const reasons: string[] = [];
    for (const authorizer of authorizers) {
      const decision = await authorizer.authorize(attributes);
      if (decision.decision !== 'noOpinion') return decision;
      if (decision.reason) reasons.push(decision.reason);
    }
    return {...noOpinion, ...(reasons.length > 0 ? {reason: reasons.join('\n')} : {})};
  },
});

/** Allows these paths to everyone; one that ends in `*` is a prefix. */
export const pathAuthorizer = (paths: readonly string[]): Authorizer => {
  const wanted = paths.map(path => path.replace(/^\/*/, '/'));
  const exact = new Set(wanted.filter(path => !path.endsWith('*')));
  const prefixes = wanted.filter(path => path.endsWith('*')).map(path => path.slice(0, -1));
  return {
    authorize: ({resource, path}) =>
      !resource && (exact.has(path) || prefixes.some(prefix => path.startsWith(prefix))) ? allow : noOpinion,
  };
};

/** Allows everything to members of these groups. */
export const groupAuthorizer = (groups: readonly string[]): Authorizer => ({
  authorize: ({user}) => (user.groups.some(group => groups.includes(group)) ? allow : noOpinion),
});
