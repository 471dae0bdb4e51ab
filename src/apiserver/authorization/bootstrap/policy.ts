import type {Naming} from '#src/api/naming.js';
import type {ClusterRole, ClusterRoleBinding, Role, RoleBinding} from '#src/api/types.js';
import {wellKnown} from '#src/api/user.js';
import {deepFreeze} from '#src/apiserver/registry/object-cache.js';
import {certificateRoles} from './certificate-roles.js';
import {componentRoles} from './component-roles.js';
import {controllerPolicy} from './controller-roles.js';
import {namespaceBindings, namespaceRoles} from './namespace-roles.js';
import {namespaceUserRoles} from './namespace-user-roles.js';
import {nodeRoles} from './node-roles.js';
import {userRoles} from './user-roles.js';
import {policyBuilders, type PolicyBuilders} from './builders.js';

/** The default roles and bindings of every cluster. */
export interface BootstrapPolicy {
  readonly clusterRoles: readonly ClusterRole[];
  readonly clusterRoleBindings: readonly ClusterRoleBinding[];
  readonly roles: readonly Role[];
  readonly roleBindings: readonly RoleBinding[];
}

const clusterBindings = ({naming, gate, clusterBinding, user, group, account}: PolicyBuilders): ClusterRoleBinding[] => {
  const component = (name: string): string => naming.componentUser(name);
  return [
    clusterBinding('cluster-admin', group(wellKnown.masters)),
    clusterBinding('system:monitoring', group('system:monitoring')),
    clusterBinding('system:discovery', group(wellKnown.authenticated)),
    clusterBinding('system:basic-user', group(wellKnown.authenticated)),
    clusterBinding('system:public-info-viewer', group(wellKnown.authenticated), group(wellKnown.unauthenticated)),
    clusterBinding('system:node-proxier', user(component('proxy'))),
    clusterBinding(component('controller-manager'), user(component('controller-manager'))),
    clusterBinding(component('dns'), account(naming.component('dns'))),
    clusterBinding(component('scheduler'), user(component('scheduler'))),
    clusterBinding('system:volume-scheduler', user(component('scheduler'))),
    // Nodes are authorized by the Node authorizer; the role remains for bindings of administrators.
    clusterBinding('system:node'),
    clusterBinding('system:service-account-issuer-discovery', group(wellKnown.serviceAccounts)),
    ...(gate('ClusterTrustBundle') ? [clusterBinding('system:cluster-trust-bundle-discovery', group(wellKnown.serviceAccounts))] : []),
  ];
};

/** A policy, and the feature gates that it was made with. */
interface MadePolicy {
  readonly policy: BootstrapPolicy;
  readonly gates: ReadonlyMap<string, boolean>;
}

/** How many policies are kept for each naming. */
const mostKept = 4;

/** The last policies: servers ask several times, and mostly have the same gates. */
const kept = new WeakMap<Naming, readonly MadePolicy[]>();

/**
 * Returns the policy in a naming, with the additions of feature gates (the API reference, "Default roles and role
 * bindings"). It is frozen, since servers share it.
 */
export const bootstrapPolicy = (naming: Naming, gate: (name: string) => boolean): BootstrapPolicy => {
  const known = kept.get(naming) ?? [];
  const same = known.find(({gates}) => [...gates].every(([name, isOn]) => gate(name) === isOn));
  if (same) return same.policy;
  const gates = new Map<string, boolean>();
  const asked = (name: string): boolean => {
    const isOn = gate(name);
    gates.set(name, isOn);
    return isOn;
  };
  const policy = deepFreeze(makePolicy(policyBuilders(naming, asked)));
  kept.set(naming, [{policy, gates}, ...known].slice(0, mostKept));
  return policy;
};

const makePolicy = (builders: PolicyBuilders): BootstrapPolicy => {
  const ofControllers = controllerPolicy(builders);
  return {
    clusterRoles: [
      ...userRoles(builders),
      ...namespaceUserRoles(builders),
      ...componentRoles(builders),
      ...nodeRoles(builders),
      ...certificateRoles(builders),
      ...ofControllers.roles,
    ],
    clusterRoleBindings: [...clusterBindings(builders), ...ofControllers.bindings],
    roles: namespaceRoles(builders),
    roleBindings: namespaceBindings(builders),
  };
};
