import {kind} from '#src/api/kind.js';
import type * as types from '#src/api/types.js';

/** The kinds of the group; a version that is not the best one is named with its version. */
export const rbacAuthorizationKinds = {
  clusterRoleBindings: kind<types.ClusterRoleBinding>('rbac.authorization', 'v1', 'ClusterRoleBinding', 'clusterrolebindings', false),
  clusterRoles: kind<types.ClusterRole>('rbac.authorization', 'v1', 'ClusterRole', 'clusterroles', false),
  roleBindings: kind<types.RoleBinding>('rbac.authorization', 'v1', 'RoleBinding', 'rolebindings', true),
  roles: kind<types.Role>('rbac.authorization', 'v1', 'Role', 'roles', true),
} as const;
