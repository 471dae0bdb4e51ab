import type {Frozen} from '#src/api/key.js';
import type {OwnerReference} from '#src/api/types.js';

/** An owner as an object names it. */
export type Owner = Frozen<OwnerReference>;

/** Which object is meant. The namespace of a cluster-scoped object is empty. */
export interface Identity {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** As logs and Events spell it. */
export const identityText = ({apiVersion, kind, namespace, name, uid}: Identity): string => `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`;

/** The owner that an object of `namespace` means. Whether it has a namespace at all is not to be seen from here. */
export const identityOf = ({apiVersion, kind, name, uid}: Owner, namespace: string): Identity => ({apiVersion, kind, namespace, name, uid});

export const sameIdentity = (one: Identity, other: Identity): boolean => refersTo(one, other) && one.namespace === other.namespace;

/** Whether a reference names that object, wherever it is. */
export const refersTo = (owner: Pick<Owner, 'apiVersion' | 'kind' | 'name' | 'uid'>, {apiVersion, kind, name, uid}: Identity): boolean =>
  owner.uid === uid && owner.name === name && owner.kind === kind && owner.apiVersion === apiVersion;

const order = ['kind', 'apiVersion', 'namespace', 'name', 'uid'] as const;

/** Below zero when `one` stands before `other`: kinds stay together, whether they have namespaces or not. */
export const compareIdentities = (one: Identity, other: Identity): number => {
  const field = order.find(each => one[each] !== other[each]);
  if (field === undefined) return 0;
  return one[field] < other[field] ? -1 : 1;
};
