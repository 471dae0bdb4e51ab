// Metric families of a node agent in the text format of Prometheus. Samples have the time of their measurement, which
// prom-client does not write.

import type {ApiResponse} from '#src/api/request.js';
import {text} from '#src/serving/administration/route.js';

/**
 * One series of a metric family at one time; `time`, in ms since the epoch, is optional, as is what is appended to the
 * name of the family.
 */
export type Sample = readonly [labels: Readonly<Record<string, string>>, value: number, time?: number | undefined, suffix?: string];

export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly samples: readonly Sample[];
}

const escaped = (value: string): string => value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');

const labelText = (labels: Sample[0]): string => {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length > 0 ? `{${pairs.join(',')}}` : '';
};

const familyText = ({name, help, type, samples}: Family): string =>
  samples.length === 0 ? '' : `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${samples.map(sample => sampleText(name, sample)).join('')}`;

const sampleText = (name: string, [labels, value, time, suffix = '']: Sample): string =>
  `${name}${suffix}${labelText(labels)} ${value}${time === undefined ? '' : ` ${Math.round(time)}`}\n`;

/** Returns the series of a histogram. */
export const histogramSamples = (
  labels: Sample[0],
  {
    bounds,
    counts,
    count,
    seconds,
  }: {readonly bounds: readonly number[]; readonly counts: readonly number[]; readonly count: number; readonly seconds: number},
): Sample[] => [
  ...bounds.map((bound, index): Sample => [{...labels, le: String(bound)}, counts[index] ?? 0, undefined, '_bucket']),
  [{...labels, le: '+Inf'}, count, undefined, '_bucket'],
  [labels, seconds, undefined, '_sum'],
  [labels, count, undefined, '_count'],
];

/** Metric families in the text format of Prometheus, sorted by name; empty ones are left out. */
export const exposition = (families: readonly Family[]): ApiResponse =>
  text(
    [...families]
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map(familyText)
      .join(''),
    200,
    'text/plain; version=0.0.4; charset=utf-8',
  );
