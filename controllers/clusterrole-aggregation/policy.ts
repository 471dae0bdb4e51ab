import type {Frozen} from '#src/api/key.js';
import {labelSelectorOf} from '#src/api/selectors/label-selector.js';
import type {ClusterRole, PolicyRule} from '#src/api/types.js';
import {canonicalJson} from '#src/base/canonical-json.js';

const byName = (one: Frozen<ClusterRole>, other: Frozen<ClusterRole>): number => ((one.metadata?.name ?? '') < (other.metadata?.name ?? '') ? -1 : 1);

/** The rules a role gathers from all others that its selectors match: selector by selector, in the order of names, none twice. Throws for a selector that makes no sense. */
export const gatheredRules = (role: Frozen<ClusterRole>, all: readonly Frozen<ClusterRole>[]): Frozen<PolicyRule>[] => {
  const rules: Frozen<PolicyRule>[] = [];
  const known = new Set<string>();
  for (const selector of role.aggregationRule?.clusterRoleSelectors ?? []) {
    const {matches} = labelSelectorOf(selector as Parameters<typeof labelSelectorOf>[0]);
    const others = all.filter(({metadata}) => matches(metadata?.labels) && metadata?.name !== role.metadata?.name).sort(byName);
    for (const rule of others.flatMap(other => other.rules ?? [])) {
      const text = canonicalJson(rule);
      if (known.has(text)) continue;
      known.add(text);
      rules.push(rule);
    }
  }
  return rules;
};
