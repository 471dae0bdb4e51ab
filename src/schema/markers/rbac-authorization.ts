import type {GroupMarkers} from './types.js';

/** The markers of `rbac.authorization`, which its field tables do not contain. */
export const rbacAuthorization: GroupMarkers = {
  v1: {
    AggregationRule: {clusterRoleSelectors: 'atomic'},
    ClusterRole: {'*': 'kept(rules)', rules: 'atomic'},
    ClusterRoleBinding: {subjects: 'atomic'},
    PolicyRule: {apiGroups: 'atomic', nonResourceURLs: 'atomic', resourceNames: 'atomic', resources: 'atomic', verbs: 'atomic'},
    Role: {'*': 'kept(rules)', rules: 'atomic'},
    RoleBinding: {subjects: 'atomic'},
    RoleRef: {'*': 'atomic'},
    Subject: {'*': 'atomic'},
  },
};
