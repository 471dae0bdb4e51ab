/** One measured figure, beside the raw limit of the same run where there is one. */
export interface Row {
  readonly name: string;
  readonly figure: number;
  readonly unit: string;
  /** What the machine does at most, measured in the same run and the same unit. */
  readonly baseline?: number;
  /** The figure over the baseline. */
  readonly ratio?: number;
  readonly note?: string;
}

/** A row whose ratio follows from its baseline. */
export const row = (name: string, figure: number, unit: string, {baseline, note}: {baseline?: number; note?: string} = {}): Row => ({
  name,
  figure,
  unit,
  ...(baseline === undefined ? {} : {baseline, ratio: figure / baseline}),
  ...(note === undefined ? {} : {note}),
});
