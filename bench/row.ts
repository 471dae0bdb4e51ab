/** A measured value, with a baseline of the same run if there is one. */
export interface Row {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** The limit of the machine, measured in the same run and unit. */
  readonly baseline?: number;
  /** The value divided by the baseline. */
  readonly ratio?: number;
  readonly note?: string;
}

/** A row whose ratio is calculated from its baseline. */
export const row = (name: string, value: number, unit: string, {baseline, note}: {baseline?: number; note?: string} = {}): Row => ({
  name,
  value,
  unit,
  ...(baseline === undefined ? {} : {baseline, ratio: value / baseline}),
  ...(note === undefined ? {} : {note}),
});
