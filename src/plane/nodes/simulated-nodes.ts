// The simulated nodes of a process, for what is there before them: the network of its API server, and the ports of
// their agents.

import type {UsageReader} from '#src/api/node/usage.js';
import type {Simulation} from '#src/simulation/simulation.js';

/** Finds simulated nodes and their pods; nothing until they run. */
export class SimulatedNodes implements Pick<Simulation, 'nodeAt' | 'podAt'> {
  #simulation: Simulation | undefined;

  /** Called once the simulation runs. */
  attach(simulation: Simulation): void {
    this.#simulation = simulation;
  }

  get simulation(): Simulation | undefined {
    return this.#simulation;
  }

  nodeAt(host: string): ReturnType<Simulation['nodeAt']> {
    return this.#simulation?.nodeAt(host);
  }

  podAt(address: string): ReturnType<Simulation['podAt']> {
    return this.#simulation?.podAt(address);
  }

  /** The usage of the nodes and their pods. */
  get usage(): UsageReader {
    const reader = (): UsageReader | undefined => this.#simulation?.usage;
    return {
      pod: (namespace, name) => reader()?.pod(namespace, name),
      pods: namespace => reader()?.pods(namespace) ?? [],
      node: name => reader()?.node(name),
      nodes: () => reader()?.nodes() ?? [],
    };
  }
}
