import type {GroupToken, Naming} from './naming.js';
import type * as types from './types.js';
import type {KubeObject} from './types.js';

/** The handle of a kind in one version, shared by server, clients and informers. `T` is the type of its objects. */
export interface Kind<T extends KubeObject = KubeObject> {
  readonly group: GroupToken;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly namespaced: boolean;
  /** Carries the type only; never set. */
  readonly type?: T;
}

const kind = <T extends KubeObject>(group: GroupToken, version: string, name: string, plural: string, namespaced: boolean): Kind<T> => ({
  group,
  version,
  kind: name,
  plural,
  singular: name.toLowerCase(),
  namespaced,
});

/** Every built-in kind, by the name code uses for it. */
export const kinds = {
  namespaces: kind<types.Namespace>('', 'v1', 'Namespace', 'namespaces', false),
  nodes: kind<types.Node>('', 'v1', 'Node', 'nodes', false),
  secrets: kind<types.Secret>('', 'v1', 'Secret', 'secrets', true),
  configMaps: kind<types.ConfigMap>('', 'v1', 'ConfigMap', 'configmaps', true),
  serviceAccounts: kind<types.ServiceAccount>('', 'v1', 'ServiceAccount', 'serviceaccounts', true),
  coreEvents: kind<types.CoreEvent>('', 'v1', 'Event', 'events', true),
  events: kind<types.EventsEvent>('events', 'v1', 'Event', 'events', true),
  leases: kind<types.Lease>('coordination', 'v1', 'Lease', 'leases', true),
  certificateSigningRequests: kind<types.CertificateSigningRequest>(
    'certificates',
    'v1',
    'CertificateSigningRequest',
    'certificatesigningrequests',
    false,
  ),
  roles: kind<types.Role>('rbac.authorization', 'v1', 'Role', 'roles', true),
  clusterRoles: kind<types.ClusterRole>('rbac.authorization', 'v1', 'ClusterRole', 'clusterroles', false),
  roleBindings: kind<types.RoleBinding>('rbac.authorization', 'v1', 'RoleBinding', 'rolebindings', true),
  clusterRoleBindings: kind<types.ClusterRoleBinding>('rbac.authorization', 'v1', 'ClusterRoleBinding', 'clusterrolebindings', false),
  tokenReviews: kind<types.TokenReview>('authentication', 'v1', 'TokenReview', 'tokenreviews', false),
  selfSubjectReviews: kind<types.SelfSubjectReview>('authentication', 'v1', 'SelfSubjectReview', 'selfsubjectreviews', false),
  subjectAccessReviews: kind<types.SubjectAccessReview>('authorization', 'v1', 'SubjectAccessReview', 'subjectaccessreviews', false),
  localSubjectAccessReviews: kind<types.LocalSubjectAccessReview>(
    'authorization',
    'v1',
    'LocalSubjectAccessReview',
    'localsubjectaccessreviews',
    true,
  ),
  selfSubjectAccessReviews: kind<types.SelfSubjectAccessReview>(
    'authorization',
    'v1',
    'SelfSubjectAccessReview',
    'selfsubjectaccessreviews',
    false,
  ),
  selfSubjectRulesReviews: kind<types.SelfSubjectRulesReview>(
    'authorization',
    'v1',
    'SelfSubjectRulesReview',
    'selfsubjectrulesreviews',
    false,
  ),
} as const;

/** The type of a kind's objects. */
export type ObjectOf<K> = K extends Kind<infer T> ? T : never;

/** `apiVersion` of a kind on the wire. */
export const apiVersionOf = (naming: Naming, of: Kind): string => naming.apiVersion(of.group, of.version);

/** The path of a kind's collection, with the namespace if one is given. */
export const collectionPath = (naming: Naming, of: Kind, namespace?: string): string => {
  const root = of.group === '' ? `/api/${of.version}` : `/apis/${naming.group(of.group)}/${of.version}`;
  return namespace ? `${root}/namespaces/${encodeURIComponent(namespace)}/${of.plural}` : `${root}/${of.plural}`;
};

/** `resource` or `resource.group`, as messages quote it. */
export const groupResource = (naming: Naming, of: Pick<Kind, 'group' | 'plural'>): string =>
  of.group === '' ? of.plural : `${of.plural}.${naming.group(of.group)}`;
