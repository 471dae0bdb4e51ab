import type {AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import type {AllocationContext} from '#src/resources/definition.js';

/** The server's own pools of addresses and ports, and the way to delete what belongs to a removed object. */
export type Pools = Pick<AllocationContext, 'addresses' | 'nodePorts' | 'reader' | 'remove'>;

export interface WriteParts {
  /** In the order in which they are called. */
  readonly admission: readonly AdmissionPlugin[];
  readonly pools: Pools;
}

/**
 * What writes need beside the registry. Admission plugins and pools read objects through the registry, so they are built after it: the registry serves
 * reads from the start, and writes from `begin` on.
 */
export class WriteServices {
  #parts: WriteParts | undefined;

  begin(parts: WriteParts): void {
    this.#parts = parts;
  }

  get admission(): readonly AdmissionPlugin[] {
    return this.#begun.admission;
  }

  get pools(): Pools {
    return this.#begun.pools;
  }

  get #begun(): WriteParts {
    if (!this.#parts) throw new Error('the registry does not take writes yet');
    return this.#parts;
  }
}
