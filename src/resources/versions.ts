import type {Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import type {ServedVersion} from './definition.js';

/** Returns a version whose objects have the same fields as the hub's. */
export const sameFieldsVersion = <Hub extends KubeObject>(
  kind: Kind,
  rest: Omit<ServedVersion<Hub>, 'kind' | 'toHub' | 'fromHub'> = {},
): ServedVersion<Hub> => ({
  ...rest,
  kind,
  toHub: object => object as Hub,
  fromHub: hub => hub as KubeObject,
});
