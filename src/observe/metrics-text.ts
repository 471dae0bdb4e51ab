// Reads samples from the text format of metrics, as servers answer it under /metrics.

/** One value of a metric. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Samples by the names of their metrics. Of a histogram each part has its own name. */
export type Metrics = ReadonlyMap<string, readonly Sample[]>;

const unescaped = (text: string): string =>
  text.includes('\\') ? text.replaceAll(/\\(.)/g, (_, c: string) => (c === 'n' ? '\n' : c)) : text;

/** Returns where the quoted text that begins at `from` ends. */
const quoteEnd = (text: string, from: number): number => {
  let at = from;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return Math.min(at, text.length);
};

/** Reads the labels from `at` on, after the brace; returns them with where the brace ends them. */
const labelsAt = (line: string, at: number): {readonly labels: Record<string, string>; readonly end: number} => {
  const labels: Record<string, string> = {};
  for (;;) {
    const equals = line.indexOf('="', at);
    const close = line.indexOf('}', at);
    if (equals < 0 || (close >= 0 && close < equals)) return {labels, end: close < 0 ? line.length : close + 1};
    const end = quoteEnd(line, equals + 2);
    labels[line.slice(at, equals).replace(',', '').trim()] = unescaped(line.slice(equals + 2, end));
    at = end + 1;
  }
};

const numberOf = (text: string): number => {
  const [value = ''] = text.trimStart().split(' ', 1);
  return value === '+Inf' ? Infinity : value === '-Inf' ? -Infinity : Number(value);
};

/** Returns the samples of the metrics with these names. */
export const parseMetrics = (text: string, wanted: ReadonlySet<string>): Metrics => {
  const found = new Map<string, Sample[]>();
  for (let from = 0, next = 0; from < text.length; from = next + 1) {
    next = text.indexOf('\n', from);
    if (next < 0) next = text.length;
    if (text[from] === '#') continue;
    const line = text.slice(from, next);
    const end = line.search(/[{ ]/);
    const name = line.slice(0, end);
    if (end < 0 || !wanted.has(name)) continue;
    const {labels, end: after} = line[end] === '{' ? labelsAt(line, end + 1) : {labels: {}, end};
    const sample = {labels, value: numberOf(line.slice(after))};
    const known = found.get(name);
    if (known) known.push(sample);
    else found.set(name, [sample]);
  }
  return found;
};

/** Returns the sum of the samples of a metric, of those that `keep` takes. */
export const total = (metrics: Metrics, name: string, keep: (labels: Sample['labels']) => boolean = () => true): number =>
  (metrics.get(name) ?? []).reduce((sum, {labels, value}) => (keep(labels) ? sum + value : sum), 0);

/**
 * Returns the value below which a share of what a histogram has counted lies, between two readings. NaN if it has
 * counted nothing.
 */
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
