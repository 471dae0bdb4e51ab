import type {Frozen} from '#src/api/key.js';
import type {OwnerReference} from '#src/api/types.js';

/** An owner reference. */
export type Owner = Frozen<OwnerReference>;

/** The identity of an object. The namespace of a cluster-scoped object is empty. */
export interface Identity {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** Formats an identity for logs and Events. */
export const identityText = ({apiVersion, kind, namespace, name, uid}: Identity): string =>
  `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`;

/**
 * Returns the identity that an owner reference in `namespace` refers to. Whether the owner is namespaced is not known
 * here.
 */
export const identityOf = ({apiVersion, kind, name, uid}: Owner, namespace: string): Identity => ({apiVersion, kind, namespace, name, uid});

export const sameIdentity = (one: Identity, other: Identity): boolean => refersTo(one, other) && one.namespace === other.namespace;

/** Whether a reference names that object, in any namespace. */
export const refersTo = (owner: Pick<Owner, 'apiVersion' | 'kind' | 'name' | 'uid'>, {apiVersion, kind, name, uid}: Identity): boolean =>
  owner.uid === uid && owner.name === name && owner.kind === kind && owner.apiVersion === apiVersion;

const order = ['kind', 'apiVersion', 'namespace', 'name', 'uid'] as const;

/** Orders identities by kind first. Negative when `one` comes before `other`. */
export const compareIdentities = (one: Identity, other: Identity): number => {
  const field = order.find(each => one[each] !== other[each]);
  if (field === undefined) return 0;
  return one[field] < other[field] ? -1 : 1;
};
