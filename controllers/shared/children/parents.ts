import type {Lister} from '#informers/lister.js';
import {keyText, type Frozen} from '#src/api/key.js';
import {isOfKind, type Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import {controllerOf} from '#src/model/owners.js';

/** Returns the parent that `child` names as its controller, if the cache has it with this uid. */
export const controllingParent = <T extends KubeObject>(
  child: Frozen<KubeObject>,
  kind: Kind<T>,
  lister: Lister<T>,
  naming: Naming,
): Frozen<T> | undefined => {
  const reference = controllerOf(child);
  if (!reference || !isOfKind(reference, kind, naming)) return undefined;
  const parent = lister.get(keyText({namespace: kind.namespaced ? (child.metadata?.namespace ?? '') : '', name: reference.name}));
  return parent?.metadata?.uid === reference.uid ? parent : undefined;
};
