// The vocabulary of the bootstrap policy: functions that build rules, roles and bindings. The policy itself is in the
// files beside this one.

import type {GroupToken, Naming} from '#src/api/naming.js';
import type {ClusterRole, ClusterRoleBinding, PolicyRule, RbacSubject, Role, RoleBinding} from '#src/api/types.js';

/** The read-only verbs. */
export const read = 'get list watch';

/** `core`, `*`, or a group's name in code. */
type GroupWord = 'core' | '*' | Exclude<GroupToken, ''>;

const sorted = (text: string): string[] => text.split(' ').sort();

/** Functions that build the bootstrap policy for a naming and the feature gates. */
export const policyBuilders = (naming: Naming, gate: (name: string) => boolean) => {
  const group = (name: string): string => (name === 'core' ? '' : name === '*' ? '*' : naming.group(name as GroupToken));
  const apiGroup = naming.group('rbac.authorization');
  const version = naming.apiVersion('rbac.authorization', 'v1');

  const metadata = (name: string, labels: Record<string, string> = {}) => ({
    name,
    labels: {[naming.labels.bootstrapping]: 'rbac-defaults', ...labels},
    annotations: {[naming.annotations.autoupdate]: 'true'},
  });

  /** A rule of verbs on resources of groups, each a list separated by blanks; restricted to names, if there are any. */
  const rule = (verbs: string, groups: GroupWord | `${GroupWord} ${GroupWord}`, resources: string, ...names: string[]): PolicyRule => ({
    verbs: sorted(verbs),
    apiGroups: groups.split(' ').map(group).sort(),
    resources: sorted(resources),
    ...(names.length > 0 ? {resourceNames: [...names].sort()} : {}),
  });

  const subjects = {
    user: (name: string): RbacSubject => ({kind: 'User', apiGroup, name}),
    group: (name: string): RbacSubject => ({kind: 'Group', apiGroup, name}),
    account: (name: string): RbacSubject => ({kind: 'ServiceAccount', name, namespace: naming.systemNamespace}),
  };

  return {
    naming,
    gate,
    rule,
    ...subjects,
    /** A rule of verbs on paths. */
    paths: (verbs: string, ...urls: string[]): PolicyRule => ({verbs: sorted(verbs), nonResourceURLs: [...urls].sort()}),
    /** The rule for reporting events. */
    reportEvents: rule('create patch update', 'core events', 'events'),
    /** The rules, if the gate is on. */
    when: (name: string, ...rules: PolicyRule[]): PolicyRule[] => (gate(name) ? rules : []),
    clusterRole: (name: string, rules: PolicyRule[], labels?: Record<string, string>): ClusterRole => ({
      apiVersion: version,
      kind: 'ClusterRole',
      metadata: metadata(name, labels),
      rules,
    }),
    role: (namespace: string, name: string, rules: PolicyRule[]): Role => ({
      apiVersion: version,
      kind: 'Role',
      metadata: {...metadata(name), namespace},
      rules,
    }),
    /** Binds a cluster role cluster-wide, under its own name. */
    clusterBinding: (name: string, ...to: RbacSubject[]): ClusterRoleBinding => ({
      apiVersion: version,
      kind: 'ClusterRoleBinding',
      metadata: metadata(name),
      roleRef: {apiGroup, kind: 'ClusterRole', name},
      ...(to.length > 0 ? {subjects: to} : {}),
    }),
    binding: (namespace: string, name: string, role: string, ...to: RbacSubject[]): RoleBinding => ({
      apiVersion: version,
      kind: 'RoleBinding',
      metadata: {...metadata(name), namespace},
      roleRef: {apiGroup, kind: 'Role', name: role},
      subjects: to,
    }),
  };
};

export type PolicyBuilders = ReturnType<typeof policyBuilders>;

/** Rules by the name of the controller's service account. */
export type ControllerRules = Readonly<Record<string, readonly PolicyRule[]>>;
