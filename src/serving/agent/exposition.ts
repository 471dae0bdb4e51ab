// Metric families of a node agent in the text format of Prometheus. Samples have the time of their measurement, which prom-client does not write.

import type {ApiResponse} from '#src/api/request.js';
import {text} from '#src/serving/administration/route.js';

/** One series of a metric family at one time; `time`, in ms since the epoch, is optional. */
export type Sample = readonly [labels: Readonly<Record<string, string>>, value: number, time?: number];

export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  readonly samples: readonly Sample[];
}

const escaped = (value: string): string => value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');

const labelText = (labels: Sample[0]): string => {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length > 0 ? `{${pairs.join(',')}}` : '';
};

const familyText = ({name, help, type, samples}: Family): string =>
  samples.length === 0
    ? ''
    : `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${samples.map(([labels, value, time]) => `${name}${labelText(labels)} ${value}${time === undefined ? '' : ` ${Math.round(time)}`}\n`).join('')}`;

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
