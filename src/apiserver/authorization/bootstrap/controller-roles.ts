import type {ClusterRole, ClusterRoleBinding} from '#src/api/types.js';
import {clusterControllerRoles} from './cluster-controller-roles.js';
import {networkControllerRoles} from './network-controller-roles.js';
import {storageControllerRoles} from './storage-controller-roles.js';
import type {ControllerRules, PolicyWords} from './words.js';
import {workloadControllerRoles} from './workload-controller-roles.js';

/** The name of the role of a controller's account. */
export const controllerRole = (account: string): string => `system:controller:${account}`;

const allRules = (words: PolicyWords): ControllerRules => ({
  ...workloadControllerRoles(words),
  ...networkControllerRoles(words),
  ...storageControllerRoles(words),
  ...clusterControllerRoles(words),
});

/** One cluster role for each account that controllers act as. */
export const controllerRoles = (words: PolicyWords): ClusterRole[] =>
  Object.entries(allRules(words)).map(([account, rules]) => words.clusterRole(controllerRole(account), [...rules]));

/** Each bound to its account. */
export const controllerBindings = (words: PolicyWords): ClusterRoleBinding[] =>
  Object.keys(allRules(words)).map(account => words.clusterBinding(controllerRole(account), words.account(account)));
