// What is scarce on a node, as the parts of its agent have found.

/** The type of the condition that a Node shows. */
export type Pressure = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure';

/** The condition of a node: its Node shows it, and admission goes by it. */
export class NodeCondition {
  readonly #pressures = new Set<Pressure>();

  /** What the node lacks. */
  get pressures(): readonly Pressure[] {
    return [...this.#pressures];
  }

  /** Called by whoever watches a resource when it becomes scarce, and when there is enough of it again. */
  setPressure(pressure: Pressure, isPressed: boolean): void {
    if (isPressed) this.#pressures.add(pressure);
    else this.#pressures.delete(pressure);
  }
}
