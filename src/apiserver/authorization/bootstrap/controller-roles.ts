import type {ClusterRole, ClusterRoleBinding} from '#src/api/types.js';
import {certificateControllerRoles} from './certificate-controller-roles.js';
import {clusterControllerRoles} from './cluster-controller-roles.js';
import {networkControllerRoles} from './network-controller-roles.js';
import {storageControllerRoles} from './storage-controller-roles.js';
import type {ControllerRules, PolicyBuilders} from './builders.js';
import {workloadControllerRoles} from './workload-controller-roles.js';

/** The name of the role of a controller's account. */
export const controllerRole = (account: string): string => `system:controller:${account}`;

const allRules = (builders: PolicyBuilders): ControllerRules => ({
  ...workloadControllerRoles(builders),
  ...networkControllerRoles(builders),
  ...storageControllerRoles(builders),
  ...certificateControllerRoles(builders),
  ...clusterControllerRoles(builders),
});

/** One cluster role for each controller's account. */
export const controllerRoles = (builders: PolicyBuilders): ClusterRole[] =>
  Object.entries(allRules(builders)).map(([account, rules]) => builders.clusterRole(controllerRole(account), [...rules]));

/** Each bound to its account. */
export const controllerBindings = (builders: PolicyBuilders): ClusterRoleBinding[] =>
  Object.keys(allRules(builders)).map(account => builders.clusterBinding(controllerRole(account), builders.account(account)));
