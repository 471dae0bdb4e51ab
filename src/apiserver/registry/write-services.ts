import type {AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import type {AllocationContext} from '#src/resources/definition.js';

/** The server's pools of addresses and ports, and the deletion of objects that belong to a removed one. */
export type Pools = Pick<AllocationContext, 'addresses' | 'nodePorts' | 'reader' | 'remove'>;

export interface WriteDependencies {
  /** The plugins in the order of their calls. */
  readonly admission: readonly AdmissionPlugin[];
  readonly pools: Pools;
}

/**
 * The services that only writes depend on. Admission plugins and pools read objects through the registry, so they are built after it: the registry serves
 * reads from the start, and writes from `start` on.
 */
export class WriteServices {
  #dependencies: WriteDependencies | undefined;

  start(dependencies: WriteDependencies): void {
    this.#dependencies = dependencies;
  }

  get admission(): readonly AdmissionPlugin[] {
    return this.#started.admission;
  }

  get pools(): Pools {
    return this.#started.pools;
  }

  get #started(): WriteDependencies {
    if (!this.#dependencies) throw new Error('the registry does not take writes yet');
    return this.#dependencies;
  }
}
