import type {KubeObject} from '#src/api/types.js';
import type {Source} from './selection.js';
import type {SharedInformer} from './shared.js';

/** Hands out one shared informer a selection. */
export interface InformerFactory {
  informer<T extends KubeObject>(source: Source<T>): SharedInformer<T>;
}
