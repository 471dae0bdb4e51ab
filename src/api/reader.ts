import type {Kind} from './kind.js';
import type {KubeObject} from './types.js';

/** Reads objects as they are now or, where several servers share a store, were a moment ago; one's own changes are seen at once. What it gives is shared and must not be changed; where the store answers at once, so does this. */
export interface Reader {
  /** The object, or undefined. `namespace` is empty for cluster-wide kinds. */
  get<T extends KubeObject>(kind: Kind<T>, namespace: string, name: string): Readonly<T> | undefined | Promise<Readonly<T> | undefined>;
  /** All objects of a namespace, or of all namespaces when it is empty, in the order of their names; at most `limit`. */
  list<T extends KubeObject>(kind: Kind<T>, namespace?: string, limit?: number): Promise<readonly Readonly<T>[]>;
}
