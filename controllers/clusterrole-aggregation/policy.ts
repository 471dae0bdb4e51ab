import {sameContent} from '#src/api/equal.js';
import type {Frozen} from '#src/api/key.js';
import {labelSelectorOf} from '#src/api/selectors/label-selector.js';
import type {ClusterRole, PolicyRule} from '#src/api/types.js';
import {canonicalJson} from '#src/base/canonical-json.js';
import type {Steps} from '#src/base/steps.js';

const byName = (one: Frozen<ClusterRole>, other: Frozen<ClusterRole>): number => ((one.metadata?.name ?? '') < (other.metadata?.name ?? '') ? -1 : 1);

/** How many rules are looked at in one step. */
const rulesOfStep = 100;

/** The rules a role gathers from all others that its selectors match: selector by selector, in the order of names, none twice. In steps: a role may have very many. Throws for a selector that makes no sense. */
export const gatheredRules = function* (role: Frozen<ClusterRole>, all: readonly Frozen<ClusterRole>[]): Steps<Frozen<PolicyRule>[]> {
  const rules: Frozen<PolicyRule>[] = [];
  const known = new Set<string>();
  for (const selector of role.aggregationRule?.clusterRoleSelectors ?? []) {
    const {matches} = labelSelectorOf(selector as Parameters<typeof labelSelectorOf>[0]);
    const others = all.filter(({metadata}) => matches(metadata?.labels) && metadata?.name !== role.metadata?.name).sort(byName);
    for (const [index, rule] of others.flatMap(other => other.rules ?? []).entries()) {
      if (index % rulesOfStep === rulesOfStep - 1) yield;
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
    if (index % rulesOfStep === rulesOfStep - 1) yield;
  }
  return true;
};
