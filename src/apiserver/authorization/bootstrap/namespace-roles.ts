import type {Role, RoleBinding} from '#src/api/types.js';
import {controllerRole} from './controller-roles.js';
import {read, type PolicyBuilders} from './builders.js';

const locking = 'create get list update watch';

/** The roles of components in the system's own namespaces. */
export const namespaceRoles = ({naming, role, rule, reportEvents}: PolicyBuilders): Role[] => {
  const {systemNamespace: system, publicNamespace} = naming;
  const leaderLocking = (component: string): Role =>
    role(system, `system::leader-locking-${component}`, [
      rule(locking, 'coordination', 'leases'),
      rule(locking, 'coordination', 'leasecandidates'),
    ]);
  return [
    role(system, 'extension-apiserver-authentication-reader', [rule(read, 'core', 'configmaps', 'extension-apiserver-authentication')]),
    role(system, controllerRole('bootstrap-signer'), [rule(read, 'core', 'secrets')]),
    role(system, controllerRole('cloud-provider'), [rule(`create ${read}`, 'core', 'configmaps')]),
    role(system, controllerRole('token-cleaner'), [rule(`delete ${read}`, 'core', 'secrets'), reportEvents]),
    leaderLocking(naming.component('controller-manager')),
    leaderLocking(naming.component('scheduler')),
    role(publicNamespace, controllerRole('bootstrap-signer'), [
      rule(read, 'core', 'configmaps'),
      rule('update', 'core', 'configmaps', 'cluster-info'),
      reportEvents,
    ]),
  ];
};

/** The bindings of these roles. */
export const namespaceBindings = ({naming, binding, user, account}: PolicyBuilders): RoleBinding[] => {
  const {systemNamespace: system, publicNamespace} = naming;
  const own = (namespace: string, name: string): RoleBinding =>
    binding(namespace, controllerRole(name), controllerRole(name), account(name));
  const [manager, scheduler] = ['controller-manager', 'scheduler'] as const;
  const leaderLocking = (component: string, ...more: string[]): RoleBinding => {
    const name = `system::leader-locking-${naming.component(component)}`;
    return binding(system, name, name, user(naming.componentUser(component)), account(naming.component(component)), ...more.map(account));
  };
  return [
    binding(
      system,
      'system::extension-apiserver-authentication-reader',
      'extension-apiserver-authentication-reader',
      user(naming.componentUser(manager)),
      user(naming.componentUser(scheduler)),
    ),
    leaderLocking(manager, 'leader-election-controller'),
    leaderLocking(scheduler),
    own(system, 'bootstrap-signer'),
    own(system, 'cloud-provider'),
    own(system, 'token-cleaner'),
    own(publicNamespace, 'bootstrap-signer'),
  ];
};
