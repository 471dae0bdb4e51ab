import {sameContent} from '#src/api/equal.js';
import type {Frozen} from '#src/api/key.js';
import {labelSelectorOf} from '#src/api/selectors/label-selector.js';
import type {ClusterRole, PolicyRule} from '#src/api/types.js';
import {canonicalJson} from '#src/base/json/canonical-json.js';
import {StepCount, type Steps} from '#src/base/steps.js';

const byName = (one: Frozen<ClusterRole>, other: Frozen<ClusterRole>): number =>
  (one.metadata?.name ?? '') < (other.metadata?.name ?? '') ? -1 : 1;

/** How many rules one step processes, and how many roles it matches. */
const [rulesPerStep, matchesPerStep] = [100, 1_000];

/**
 * Returns the rules of all other roles that a role's selectors match, without duplicates, by selector and then by role
 * name. Runs in steps: a role may have very many. Throws for an invalid selector.
 */
export const aggregatedRules = function* (role: Frozen<ClusterRole>, all: readonly Frozen<ClusterRole>[]): Steps<Frozen<PolicyRule>[]> {
  const rules: Frozen<PolicyRule>[] = [];
  const known = new Set<string>();
  // The rules of a role that an earlier selector matched are known.
  let left = all.filter(({metadata}) => metadata?.name !== role.metadata?.name);
  const matched = new StepCount(matchesPerStep);
  for (const selector of role.aggregationRule?.clusterRoleSelectors ?? []) {
    if (matched.add(1 + left.length)) yield;
    const {matches} = labelSelectorOf(selector as Parameters<typeof labelSelectorOf>[0]);
    const others = left.filter(({metadata}) => matches(metadata?.labels)).sort(byName);
    if (others.length > 0) left = left.filter(({metadata}) => !matches(metadata?.labels));
    for (const [index, rule] of others.flatMap(other => other.rules ?? []).entries()) {
      if (index % rulesPerStep === rulesPerStep - 1) yield;
      const text = canonicalJson(rule);
      if (known.has(text)) continue;
      known.add(text);
      rules.push(rule);
    }
  }
  return rules;
};

/** Whether two lists hold the same rules in the same order. */
export const sameRules = function* (rules: readonly Frozen<PolicyRule>[], others: readonly Frozen<PolicyRule>[]): Steps<boolean> {
  if (rules.length !== others.length) return false;
  for (const [index, rule] of rules.entries()) {
    if (!sameContent(rule, others[index])) return false;
    if (index % rulesPerStep === rulesPerStep - 1) yield;
  }
  return true;
};
