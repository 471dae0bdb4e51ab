import type {Kind} from './kind.js';
import type {DeleteOptions, KubeObject} from './types.js';

/** The object that a writer means; what is left out may be anything. */
export interface Preconditions {
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

/** Changes and removes objects on behalf of the server itself. Dry runs go through everything but the writing. */
export interface Writer {
  /**
   * Changes an object, on the newest state, until no other writer comes between. What it changes passes no rules of the
   * kind's: the caller answers for it. Rejects with `NotFound`, with `Conflict` where the object is not the one the
   * preconditions name, and with what `change` throws.
   */
  change<T extends KubeObject>(
    kind: Kind<T>,
    namespace: string,
    name: string,
    change: (object: T) => void,
    preconditions?: Preconditions,
  ): Promise<Readonly<T>>;
  /** Deletes as a request would. Rejects with the Status such a request gets. */
  delete(kind: Kind, namespace: string, name: string, options: DeleteOptions): Promise<void>;
}
