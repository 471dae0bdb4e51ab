// What is wrong with a node, as the parts of its agent detect it: pressure on resources, and that it shuts down.

import type {Pressure} from '#src/platlet/eviction/signals.js';

/** The state of a node: its Node shows it, and admission considers it. */
export class NodeCondition {
  readonly #pressures = new Set<Pressure>();
  /** Whether the machine is shutting down. */
  isShuttingDown = false;

  /** The current pressures. */
  get pressures(): readonly Pressure[] {
    return [...this.#pressures];
  }

  /** Called by the detector of a pressure when it starts and when it ends. */
  setPressure(pressure: Pressure, isPressed: boolean): void {
    if (isPressed) this.#pressures.add(pressure);
    else this.#pressures.delete(pressure);
  }
}
