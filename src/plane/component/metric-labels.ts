// The label values that metrics may have: `--allow-metric-labels`, or the file of `--allow-metric-labels-manifest`,
// which the flag overrides as a whole.

import {readFile} from 'node:fs/promises';
import {messageOf} from '#src/base/message.js';
import type {AllowedLabels} from '#src/observe/metrics.js';
import {OptionError} from '#src/options/option-error.js';
import {metricLabel} from '#src/options/shared/logging.js';

interface LabelOptions {
  /** Values separated by commas, by `metric,label`. */
  readonly allowMetricLabels: ReadonlyMap<string, string>;
  readonly allowMetricLabelsManifest: string;
}

/** Returns the allowed values; undefined if all are. Throws an `OptionError` for an invalid file. */
export const allowedLabelsOf = async ({
  allowMetricLabels,
  allowMetricLabelsManifest: manifest,
}: LabelOptions): Promise<AllowedLabels | undefined> => {
  if (allowMetricLabels.size > 0) return byMetric(allowMetricLabels);
  if (manifest === '') return undefined;
  try {
    return byMetric(await readManifest(manifest));
  } catch (cause) {
    throw new OptionError(`--allow-metric-labels-manifest: ${manifest}: ${messageOf(cause)}`, {cause});
  }
};

const readManifest = async (path: string): Promise<ReadonlyMap<string, string>> => {
  const content = await readFile(path, 'utf8');
  const {parseYaml} = await import('#src/base/yaml/parse.js');
  const parsed = parseYaml(content).value ?? {};
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) throw new Error('must be a map');
  const pairs = Object.entries(parsed);
  for (const [key, values] of pairs) {
    if (!metricLabel.test(key)) throw new Error(`"${key}" must be formatted as <MetricName>,<LabelName>`);
    if (typeof values !== 'string') throw new Error(`the value of "${key}" must be a string: <value>,<value>...`);
  }
  return new Map(pairs as [string, string][]);
};

const byMetric = (pairs: ReadonlyMap<string, string>): AllowedLabels => {
  const metrics = new Map<string, Map<string, ReadonlySet<string>>>();
  for (const [key, values] of pairs) {
    const [metric, label] = key.split(',') as [string, string];
    let labels = metrics.get(metric);
    if (!labels) metrics.set(metric, (labels = new Map()));
    labels.set(label, new Set(values.split(',')));
  }
  return metrics;
};
