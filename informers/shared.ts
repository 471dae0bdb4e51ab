import type {KubeObject} from '#src/api/types.js';
import type {Lister} from './lister.js';

export interface SharedInformer<T extends KubeObject = KubeObject> {
  readonly lister: Lister<T>;
}
