import type {Kind} from './kind.js';
import type {KubeObject} from './types.js';

/**
 * Reads current objects; with a shared store they may be slightly outdated, except for this server's own changes.
 * Objects are shared and must not be modified. Synchronous if the store is.
 */
export interface Reader {
  /** Returns the object, or undefined. `namespace` is empty for cluster-wide kinds. */
  get<T extends KubeObject>(kind: Kind<T>, namespace: string, name: string): Readonly<T> | undefined | Promise<Readonly<T> | undefined>;
  /**
   * Returns all objects of a namespace, or of all namespaces when it is empty, in the order of their names; at most
   * `limit`.
   */
  list<T extends KubeObject>(kind: Kind<T>, namespace?: string, limit?: number): Promise<readonly Readonly<T>[]>;
}
