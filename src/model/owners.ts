import type {Frozen} from '#src/api/key.js';
import {apiVersionOf, type Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject, OwnerReference} from '#src/api/types.js';

/** Returns the controller reference of an object, if any. */
export const controllerOf = ({metadata}: Frozen<KubeObject>): Frozen<OwnerReference> | undefined =>
  metadata?.ownerReferences?.find(({controller}) => controller);

/** Returns an owner reference to `parent` as the controller. It blocks foreground deletion of the parent. */
export const controllerRefTo = ({metadata}: Frozen<KubeObject>, kind: Kind, naming: Naming): OwnerReference => ({
  apiVersion: apiVersionOf(naming, kind),
  kind: kind.kind,
  name: metadata?.name ?? '',
  uid: metadata?.uid ?? '',
  controller: true,
  blockOwnerDeletion: true,
});

/** Whether `parent` controls `child`, compared by UID. */
export const isControlledBy = (child: Frozen<KubeObject>, parent: Frozen<KubeObject>): boolean => {
  const uid = controllerOf(child)?.uid;
  return uid !== undefined && uid === parent.metadata?.uid;
};

/** Whether two versions of an object have the same controller, or both none. */
export const sameController = (a: Frozen<KubeObject>, b: Frozen<KubeObject>): boolean => {
  const [left, right] = [controllerOf(a), controllerOf(b)];
  if (!left || !right) return left === right;
  return left.uid === right.uid && left.name === right.name && left.kind === right.kind && left.apiVersion === right.apiVersion;
};
