// Resource pressure on a node, as the parts of its agent detect it.

import type {Pressure} from '#src/platlet/eviction/signals.js';

/** The pressure on a node: its Node shows it, and admission considers it. */
export class NodeCondition {
  readonly #pressures = new Set<Pressure>();

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
