import type {AdmissionChain} from '#src/apiserver/admission/chain.js';
import type {AllocationContext, ReleaseContext} from '#src/resources/definition.js';
import type {AddressPool, PortPool} from '#src/resources/pools.js';

/** The server's pools of addresses and ports, and what allocation and release do to other objects. */
export interface Pools extends Pick<AllocationContext, 'reader'>, Pick<ReleaseContext, 'remove'> {
  readonly addresses: AddressPool;
  readonly nodePorts: PortPool;
}

export interface WriteDependencies {
  readonly admission: AdmissionChain;
  readonly pools: Pools;
}

/**
 * The services that only writes depend on. Admission plugins and pools read objects through the registry, so they are
 * built after it: the registry serves reads from the start, and writes from `start` on.
 */
export class WriteServices {
  admission: Pick<AdmissionChain, 'run'> = {
    run() {
      throw notStarted();
    },
  };
  #pools: Pools | undefined;

  start({admission, pools}: WriteDependencies): void {
    this.admission = admission;
    this.#pools = pools;
  }

  get pools(): Pools {
    if (!this.#pools) throw notStarted();
    return this.#pools;
  }
}

const notStarted = (): Error => new Error('the registry does not take writes yet');
