import type {Frozen} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';
import type {QuotaEvaluator, ScopeSelector} from './evaluator.js';

/** The scope fields of a quota. */
export interface ScopedQuota extends KubeObject {
  readonly spec?: {readonly scopes?: readonly string[]; readonly scopeSelector?: {readonly matchExpressions?: readonly ScopeSelector[]}};
}

/** Returns all scope selectors of a quota. */
export const scopesOf = ({spec}: Frozen<ScopedQuota>): readonly ScopeSelector[] => [
  ...(spec?.scopes ?? []).map(scopeName => ({scopeName, operator: 'Exists'})),
  ...((spec?.scopeSelector?.matchExpressions ?? []) as readonly ScopeSelector[]),
];

/** Whether an object matches all scopes. */
export const matchesAllScopes = (scopes: readonly ScopeSelector[], object: Frozen<KubeObject>, {matchesScope}: QuotaEvaluator): boolean =>
  scopes.every(scope => matchesScope?.(scope, object) ?? false);

/**
 * Whether a value, such as the name of a priority class, matches the selector's values. A missing value matches only
 * DoesNotExist and NotIn.
 */
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
