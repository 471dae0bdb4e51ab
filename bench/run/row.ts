/** How a figure grows: points of what was raised and what was measured. */
export interface Series {
  /** What was raised: objects, watchers. */
  readonly axis: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

/** A measured value, with a baseline of the same run if there is one. */
export interface Row {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** The name by which the row is selected, in tables and plots as well. */
  readonly key?: string;
  /** What was measured, if not plat. */
  readonly server?: string;
  /** Whether it was measured with less than the figures that it is compared with. */
  readonly isReduced?: boolean;
  /** The values of all rounds, the least first; `value` is their median. */
  readonly rounds?: readonly number[];
  /** The limit of the machine, measured in the same run and unit. */
  readonly baseline?: number;
  /** The value divided by the baseline. */
  readonly ratio?: number;
  readonly note?: string;
  readonly series?: Series;
  /** The parts of the server with their share of its time, in percent. */
  readonly profile?: readonly (readonly [name: string, percent: number])[];
}

type Details = Pick<Row, 'baseline' | 'note' | 'key' | 'isReduced'>;

/** A row whose ratio is calculated from its baseline. */
export const row = (name: string, value: number, unit: string, details: Details = {}): Row => ({
  name,
  value,
  unit,
  ...details,
  ...(details.baseline === undefined ? {} : {ratio: value / details.baseline}),
});

/** A row of a curve. Its value is the last one measured. */
export const curve = (key: string, name: string, unit: string, series: Series): Row => ({
  key,
  name,
  value: series.points.at(-1)?.[1] ?? 0,
  unit,
  series,
  note: series.points.map(([x, y]) => `${x.toLocaleString('en-US')}: ${Number(y.toPrecision(3)).toLocaleString('en-US')}`).join('; '),
});
