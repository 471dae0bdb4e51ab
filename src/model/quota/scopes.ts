import type {Frozen} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';
import type {QuotaEvaluator, ScopeSelector} from './evaluator.js';

/** A quota as far as its scopes go. */
export interface ScopedQuota extends KubeObject {
  readonly spec?: {readonly scopes?: readonly string[]; readonly scopeSelector?: {readonly matchExpressions?: readonly ScopeSelector[]}};
}

/** All that a quota asks of the objects it counts. */
export const scopesOf = ({spec}: Frozen<ScopedQuota>): readonly ScopeSelector[] => [
  ...(spec?.scopes ?? []).map(scopeName => ({scopeName, operator: 'Exists'})),
  ...((spec?.scopeSelector?.matchExpressions ?? []) as readonly ScopeSelector[]),
];

/** Whether an object is within every one of the scopes. */
export const matchesAllScopes = (scopes: readonly ScopeSelector[], object: Frozen<KubeObject>, {matchesScope}: QuotaEvaluator): boolean => scopes.every(scope => matchesScope?.(scope, object) ?? false);

/** Whether a value, such as the name of a class, is among those a selector asks for; an absent one is in none. */
export const selectorMatches = ({operator, values = []}: ScopeSelector, value: string | undefined): boolean => {
  switch (operator) {
    case 'Exists':
      return Boolean(value);
    case 'DoesNotExist':
      return !value;
    case 'In':
      return Boolean(value) && values.includes(value!);
    case 'NotIn':
      return !value || !values.includes(value);
    default:
      return false;
  }
};

export const sameScope = (a: ScopeSelector, b: ScopeSelector): boolean =>
  a.scopeName === b.scopeName && a.operator === b.operator && [...(a.values ?? [])].sort().join() === [...(b.values ?? [])].sort().join();
