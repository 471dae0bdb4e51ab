import {curve, type Row} from '#bench/run/row.js';

/** Returns the sizes up to a limit, with the limit itself as the last. */
export const sizesUpTo = (limit: number, sizes: readonly number[]): number[] => [...sizes.filter(size => size < limit), limit];

/** What a curve shows, by the key of its row. */
export type Curves<Name extends string> = Readonly<Record<Name, {readonly name: string; readonly unit: string}>>;

/** Collects the points of several curves over one axis. */
export class Points<Name extends string> {
  readonly #axis: string;
  readonly #curves: Curves<Name>;
  readonly #points = new Map<Name, [number, number][]>();

  constructor(axis: string, curves: Curves<Name>) {
    this.#axis = axis;
    this.#curves = curves;
  }

  add(size: number, values: Partial<Record<Name, number>>): void {
    for (const [name, value] of Object.entries(values) as [Name, number][]) {
      const points = this.#points.get(name) ?? [];
      this.#points.set(name, points);
      points.push([size, value]);
    }
  }

  /** The rows of the curves that have points. */
  rows(): Row[] {
    return [...this.#points].map(([key, points]) => {
      const {name, unit} = this.#curves[key];
      return curve(key, name, unit, {axis: this.#axis, points});
    });
  }
}
