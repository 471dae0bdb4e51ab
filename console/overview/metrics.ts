// Reads the metrics that the overview shows from the text format of the server.

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export type Metrics = ReadonlyMap<string, readonly Sample[]>;

const labelsOf = (text: string): Record<string, string> => {
  const labels: Record<string, string> = {};
  for (const [, name, value] of text.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/gi)) labels[name!] = value!;
  return labels;
};

/** Returns the samples of the metrics with these names. Of a histogram each part has its own name. */
export const parseMetrics = (text: string, wanted: ReadonlySet<string>): Metrics => {
  const found = new Map<string, Sample[]>();
  for (const line of text.split('\n')) {
    if (line.startsWith('#')) continue;
    const end = line.search(/[{ ]/);
    const name = line.slice(0, end);
    if (end < 0 || !wanted.has(name)) continue;
    const close = line.lastIndexOf('}');
    const sample = {
      labels: close < 0 ? {} : labelsOf(line.slice(end + 1, close)),
      value: Number(line.slice(line.indexOf(' ', close < 0 ? end : close) + 1).split(' ', 1)[0]),
    };
    const known = found.get(name);
    if (known) known.push(sample);
    else found.set(name, [sample]);
  }
  return found;
};

export const total = (metrics: Metrics, name: string, keep: (labels: Sample['labels']) => boolean = () => true): number =>
  (metrics.get(name) ?? []).reduce((sum, {labels, value}) => (keep(labels) ? sum + value : sum), 0);

/** Returns the value below which a share of what a histogram has counted lies, between two readings. */
export const quantile = (share: number, now: readonly Sample[], before: readonly Sample[] = []): number => {
  const counts = new Map<number, number>();
  const add = (samples: readonly Sample[], sign: number): void => {
    for (const {labels, value} of samples) {
      const bound = labels['le'] === '+Inf' ? Infinity : Number(labels['le']);
      counts.set(bound, (counts.get(bound) ?? 0) + sign * value);
    }
  };
  add(now, 1);
  add(before, -1);
  const bounds = [...counts].sort(([one], [other]) => one - other);
  const all = bounds.at(-1)?.[1] ?? 0;
  if (all <= 0) return Number.NaN;
  let [from, counted] = [0, 0];
  for (const [bound, count] of bounds) {
    if (count >= share * all)
      return Number.isFinite(bound) ? from + ((bound - from) * (share * all - counted)) / Math.max(1e-9, count - counted) : from;
    [from, counted] = [bound, count];
  }
  return from;
};
