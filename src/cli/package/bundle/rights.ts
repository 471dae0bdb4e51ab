// The rights of the operator in a bundle: the rules of the roles that are bound to its service account, for its own
// namespace and for the cluster. OLM makes roles of them.

import {kinds, type Kind, type ObjectOf} from '#src/api/kinds/index.js';
import type {NamedObject} from '#src/plane/manifests/read.js';
import {isA} from '#src/cli/package/project/objects.js';
import type {OperatorProject} from '#src/cli/package/project/operator-project.js';

type Role = NamedObject & ObjectOf<typeof kinds.clusterRoles>;
type Binding = NamedObject & ObjectOf<typeof kinds.roleBindings>;
type Rules = NonNullable<Role['rules']>;

/** The rights of a bundle. */
export interface BundleRights {
  readonly namespaceRules: Rules;
  readonly clusterRules: Rules;
  /** The roles and bindings that they come from, which the bundle does not have besides. */
  readonly bound: readonly NamedObject[];
}

/** Returns the rights of a project's operator. Throws an error of one line for rights that a bundle cannot express. */
export const bundleRights = ({objects, workload, namespace}: OperatorProject): BundleRights => {
  const account = workload.spec!.template.spec!.serviceAccountName;
  const isOwn = (binding: Binding): boolean =>
    (binding.subjects ?? []).some(({kind, name}) => kind === 'ServiceAccount' && name === account);
  const bindingsOf = (kind: Kind) => objects.filter(object => isA(object, kind)).filter(object => isOwn(object as Binding)) as Binding[];
  const [inNamespace, inCluster] = [bindingsOf(kinds.roleBindings as Kind), bindingsOf(kinds.clusterRoleBindings as Kind)];
  const shared = [...inNamespace, ...inCluster].find(({subjects = []}) => subjects.length > 1);
  if (shared)
    throw new Error(
      `the ${shared.kind} ${shared.metadata.name} has several subjects: give the operator one of its own, or leave olm out of --format`,
    );
  const elsewhere = inNamespace.find(({metadata}) => metadata.namespace !== namespace);
  if (elsewhere)
    throw new Error(
      `a bundle cannot grant the rights of RoleBinding ${elsewhere.metadata.name} in the namespace ${elsewhere.metadata.namespace}: leave olm out of --format`,
    );
  const roleOf = ({roleRef, metadata}: Binding): Role => {
    const role = objects.find(
      object =>
        isA(object, roleKind(roleRef.kind)) &&
        object.metadata.name === roleRef.name &&
        (roleRef.kind !== 'Role' || object.metadata.namespace === metadata.namespace),
    );
    if (!role)
      throw new Error(
        `the ${roleRef.kind} ${roleRef.name} of the binding ${metadata.name} is not among the manifests: leave olm out of --format`,
      );
    return role as Role;
  };
  const rulesOf = (bindings: readonly Binding[]): Rules => bindings.flatMap(binding => roleOf(binding).rules ?? []);
  const bindings = [...inNamespace, ...inCluster];
  return {namespaceRules: rulesOf(inNamespace), clusterRules: rulesOf(inCluster), bound: [...bindings, ...bindings.map(roleOf)]};
};

const roleKind = (kind: string): Kind => (kind === 'Role' ? kinds.roles : kinds.clusterRoles) as Kind;
