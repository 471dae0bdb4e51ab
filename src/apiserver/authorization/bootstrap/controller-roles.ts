import type {ClusterRole, ClusterRoleBinding} from '#src/api/types.js';
import {certificateControllerRoles} from './certificate-controller-roles.js';
import {clusterControllerRoles} from './cluster-controller-roles.js';
import {networkControllerRoles} from './network-controller-roles.js';
import {storageControllerRoles} from './storage-controller-roles.js';
import type {PolicyBuilders} from './builders.js';
import {workloadControllerRoles} from './workload-controller-roles.js';

/** The name of the role of a controller's account. */
export const controllerRole = (account: string): string => `system:controller:${account}`;

/** One cluster role for each controller's account, and each bound to its account. */
export const controllerPolicy = (builders: PolicyBuilders): {readonly roles: ClusterRole[]; readonly bindings: ClusterRoleBinding[]} => {
  const rules = {
    ...workloadControllerRoles(builders),
    ...networkControllerRoles(builders),
    ...storageControllerRoles(builders),
    ...certificateControllerRoles(builders),
    ...clusterControllerRoles(builders),
  };
  return {
    roles: Object.entries(rules).map(([account, each]) => builders.clusterRole(controllerRole(account), [...each])),
    bindings: Object.keys(rules).map(account => builders.clusterBinding(controllerRole(account), builders.account(account))),
  };
};
