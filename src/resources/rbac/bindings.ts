import {invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {dnsSubdomainProblems, pathSegmentProblems} from '#src/api/names.js';
import type {Naming} from '#src/api/naming.js';
import type {ClusterRoleBinding, RbacSubject, RoleBinding} from '#src/api/types.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import type {Column} from '#src/resources/definition.js';
import {immutableInternal} from '#src/resources/validation/equality.js';

// Defaults, validation and columns of role bindings in a namespace and in the cluster.

type Binding = RoleBinding | ClusterRoleBinding;

const serviceAccount = 'ServiceAccount';

/** Sets missing groups of users, groups and roles to the RBAC group. */
export const defaultGroups = (binding: Binding, naming: Naming): void => {
  const group = naming.group('rbac.authorization');
  if (binding.roleRef) binding.roleRef.apiGroup ||= group;
  for (const subject of binding.subjects ?? []) {
    if (subject.kind === 'User' || subject.kind === 'Group') subject.apiGroup ||= group;
  }
};

function* validateSubject(subject: Readonly<RbacSubject>, group: string, namespaced: boolean, path: string): Iterable<FieldError> {
  const {kind, name = '', namespace, apiGroup = ''} = subject;
  if (!name) yield required(`${path}.name`);
  if (kind === serviceAccount) {
    for (const problem of name ? dnsSubdomainProblems(name) : []) yield invalid(`${path}.name`, name, problem);
    if (apiGroup) yield notSupported(`${path}.apiGroup`, apiGroup, ['']);
    if (!namespaced && !namespace) yield required(`${path}.namespace`);
  } else if (kind === 'User' || kind === 'Group') {
    if (apiGroup !== group) yield notSupported(`${path}.apiGroup`, apiGroup, [group]);
  } else yield notSupported(`${path}.kind`, kind ?? '', [serviceAccount, 'User', 'Group']);
}

export interface BindingRules {
  readonly namespaced: boolean;
  /** The kinds of role it may refer to. */
  readonly roleKinds: readonly string[];
}

/** Validates that a binding has a role and valid subjects. The role is immutable. */
export function* validateBinding(
  binding: Readonly<Binding>,
  old: Readonly<Binding> | undefined,
  {namespaced, roleKinds}: BindingRules,
  naming: Naming,
): Iterable<FieldError> {
  const group = naming.group('rbac.authorization');
  const {apiGroup = '', kind = '', name = ''} = binding.roleRef ?? {};
  if (apiGroup !== group) yield notSupported('roleRef.apiGroup', apiGroup, [group]);
  if (!roleKinds.includes(kind)) yield notSupported('roleRef.kind', kind, roleKinds);
  if (!name) yield required('roleRef.name');
  else for (const problem of pathSegmentProblems(name)) yield invalid('roleRef.name', name, problem);
  for (const [i, subject] of (binding.subjects ?? []).entries()) yield* validateSubject(subject, group, namespaced, `subjects[${i}]`);
  if (old) yield* immutableInternal('roleRef', 'RoleRef', binding.roleRef, old.roleRef, 'cannot change roleRef');
}

const named = (kind: string, text: (subject: RbacSubject) => string) => (binding: Readonly<Binding>) =>
  (binding.subjects ?? [])
    .filter(subject => subject.kind === kind)
    .map(text)
    .join(', ');

/** The columns of both kinds of binding. */
export const bindingColumns: readonly Column<Binding>[] = [
  nameColumn,
  {name: 'Role', description: 'The role whose permissions the binding grants.', of: ({roleRef}) => `${roleRef.kind}/${roleRef.name}`},
  ageColumn,
  {name: 'Users', description: 'Users in the binding', priority: 1, of: named('User', ({name}) => name)},
  {name: 'Groups', description: 'Groups in the binding', priority: 1, of: named('Group', ({name}) => name)},
  {
    name: 'ServiceAccounts',
    description: 'ServiceAccounts in the binding',
    priority: 1,
    of: named(serviceAccount, ({namespace, name}) => `${namespace ?? ''}/${name}`),
  },
];
