import {naming} from '#src/api/naming.js';
import type {ClusterRole, PolicyRule, RbacSubject, Role} from '#src/api/types.js';
import type {UserInfo} from '#src/api/user.js';
import {Rbac} from '#src/apiserver/authorization/rbac.js';
import type {PolicyChange, PolicySource} from '#src/apiserver/authorization/policy.js';
import type {Attributes} from '#src/api/authorization.js';

export const words = naming('plat');
export const apiGroup = words.group('rbac.authorization');

export const aUser = (name: string, ...groups: string[]): UserInfo => ({name, groups});
export const user = (name: string): RbacSubject => ({kind: 'User', apiGroup, name});
export const group = (name: string): RbacSubject => ({kind: 'Group', apiGroup, name});
export const account = (name: string, namespace?: string): RbacSubject => ({
  kind: 'ServiceAccount',
  name,
  ...(namespace ? {namespace} : {}),
});

export const rule = (verbs: string, resources: string, more: Partial<PolicyRule> = {}): PolicyRule => ({
  verbs: verbs.split(' '),
  apiGroups: [''],
  resources: resources.split(' '),
  ...more,
});
export const paths = (verbs: string, ...nonResourceURLs: string[]): PolicyRule => ({verbs: verbs.split(' '), nonResourceURLs});

export const clusterRole = (name: string, ...rules: PolicyRule[]): PolicyChange & {kind: 'ClusterRole'; object: ClusterRole} => ({
  kind: 'ClusterRole',
  gone: false,
  object: {metadata: {name}, rules},
});
export const role = (namespace: string, name: string, ...rules: PolicyRule[]): PolicyChange & {kind: 'Role'; object: Role} => ({
  kind: 'Role',
  gone: false,
  object: {metadata: {namespace, name}, rules},
});
export const clusterBinding = (name: string, to: string, ...subjects: RbacSubject[]): PolicyChange => ({
  kind: 'ClusterRoleBinding',
  gone: false,
  object: {metadata: {name}, roleRef: {apiGroup, kind: 'ClusterRole', name: to}, subjects},
});
export const binding = (
  namespace: string,
  name: string,
  kind: 'Role' | 'ClusterRole',
  to: string,
  ...subjects: RbacSubject[]
): PolicyChange => ({
  kind: 'RoleBinding',
  gone: false,
  object: {metadata: {namespace, name}, roleRef: {apiGroup, kind, name: to}, subjects},
});

/** An authorizer with that policy, and a way to change it. */
export const rbacOf = async (...changes: PolicyChange[]) => {
  let notify: (change: PolicyChange) => void = () => {};
  const source: PolicySource = {
    follow(changed) {
      notify = changed;
      for (const change of changes) changed(change);
      return Promise.resolve();
    },
  };
  const rbac = new Rbac(words);
  await rbac.follow(source, new AbortController().signal);
  return {rbac, change: (change: PolicyChange) => notify(change)};
};

/** `verb group/resource/subresource name namespace`, each but the verb and the resource optional; or `verb /path`. */
export const asking = (who: UserInfo, verb: string, what: string, {namespace = '', name = '', group: of = ''} = {}): Attributes => {
  if (what.startsWith('/')) return {user: who, verb, path: what};
  const [resource = '', subresource = ''] = what.split('/');
  return {user: who, verb, resource: {group: of, version: 'v1', resource, subresource, namespace, name}, path: ''};
};
