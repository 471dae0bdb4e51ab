import type {Row} from '#bench/run/row.js';
import type {Run, Subject} from '#bench/run/subject.js';
import {definitionGrowth, definitionCurves} from './definitions.js';
import {nodeGrowth, nodeCurves} from './nodes.js';
import {objectGrowth, objectCurves} from './objects.js';
import {processGrowth, processCurves} from './processes.js';
import type {Curves} from './steps.js';
import {watcherGrowth, watcherCurves} from './watchers.js';

/** What figures are plotted against, by the key that selects its measurement. */
export const axes = {
  'growth-objects': {measure: objectGrowth, curves: objectCurves},
  'growth-watchers': {measure: watcherGrowth, curves: watcherCurves},
  'growth-nodes': {measure: nodeGrowth, curves: nodeCurves},
  'growth-definitions': {measure: definitionGrowth, curves: definitionCurves},
  'growth-processes': {measure: processGrowth, curves: processCurves},
} satisfies Record<string, {measure(run: Run): AsyncIterable<Row>; curves: Curves<string>}>;

/** How figures grow with what a cluster has more of. */
export const growth: Subject = {
  name: 'growth',
  rows: Object.keys(axes),
  async *measure(run) {
    for (const [key, {measure}] of Object.entries(axes)) if (run.wants(key)) yield* measure(run);
  },
};
