import type {Frozen} from '#src/api/key.js';
import {apiVersionOf, type Kind} from '#src/api/kinds.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject, OwnerReference} from '#src/api/types.js';

/** The one owner that manages an object; undefined for an orphan. */
export const controllerOf = ({metadata}: Frozen<KubeObject>): Frozen<OwnerReference> | undefined => metadata?.ownerReferences?.find(({controller}) => controller);

/** The reference by which a child names `parent` as its controller, and keeps it from going first when it is deleted in the foreground. */
export const controllerRefTo = ({metadata}: Frozen<KubeObject>, kind: Kind, naming: Naming): OwnerReference => ({
  apiVersion: apiVersionOf(naming, kind),
  kind: kind.kind,
  name: metadata?.name ?? '',
  uid: metadata?.uid ?? '',
  controller: true,
  blockOwnerDeletion: true,
});

/** Whether `parent`, and not another object of its name, controls `child`. */
export const isControlledBy = (child: Frozen<KubeObject>, parent: Frozen<KubeObject>): boolean => {
  const uid = controllerOf(child)?.uid;
  return uid !== undefined && uid === parent.metadata?.uid;
};

/** Whether two states of a child have the same controller, or neither has one. */
export const sameController = (a: Frozen<KubeObject>, b: Frozen<KubeObject>): boolean => {
  const [left, right] = [controllerOf(a), controllerOf(b)];
  if (!left || !right) return left === right;
  return left.uid === right.uid && left.name === right.name && left.kind === right.kind && left.apiVersion === right.apiVersion;
};
