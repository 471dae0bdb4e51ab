import {labelSelectorOf} from '#src/api/selectors/label-selector.js';
import type {ClusterRole, PolicyRule} from '#src/api/types.js';
import {sameContent} from '#src/resources/validation/equality.js';

const byName = (one: ClusterRole, other: ClusterRole): number => ((one.metadata?.name ?? '') < (other.metadata?.name ?? '') ? -1 : 1);

/** The rules a role gathers from all others that its selectors match, in the order of their names, none twice. */
export const gatheredRules = (role: ClusterRole, all: readonly ClusterRole[]): PolicyRule[] => {
  const rules: PolicyRule[] = [];
  const taken = new Set([role.metadata?.name]);
  const sorted = all.toSorted(byName);
  for (const selector of role.aggregationRule?.clusterRoleSelectors ?? []) {
    const {matches} = labelSelectorOf(selector as Parameters<typeof labelSelectorOf>[0]);
    for (const other of sorted) {
      if (taken.has(other.metadata?.name) || !matches(other.metadata?.labels)) continue;
      taken.add(other.metadata?.name);
      for (const rule of other.rules ?? []) if (!rules.some(known => sameContent(known, rule))) rules.push(rule);
    }
  }
  return rules;
};

/**
 * The roles whose gathered rules are not what they should be, with the right ones. A role may gather from one that gathers itself, so this goes on until
 * nothing changes.
 */
export const regathered = (all: readonly ClusterRole[]): ClusterRole[] => {
  const current = new Map(all.map(role => [role.metadata?.name, role]));
  const changed = new Map<string | undefined, ClusterRole>();
  for (let round = 0; round <= all.length; round++) {
    let settled = true;
    for (const role of current.values()) {
      if (!role.aggregationRule) continue;
      const rules = gatheredRules(role, [...current.values()]);
      if (sameContent(rules, role.rules)) continue;
      const next = {...role, rules};
      current.set(role.metadata?.name, next);
      changed.set(role.metadata?.name, next);
      settled = false;
    }
    if (settled) break;
  }
  return [...changed.values()];
};
