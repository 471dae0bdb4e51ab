import {certificateRows} from './certificates.js';
import {definitionRows} from './definitions.js';
import {etcdRows} from './etcd.js';
import {fairnessRows} from './fairness.js';
import {garbageRows} from './garbage.js';
import {controllerSyncRows} from './controller-syncs.js';
import {manyRows} from './many.js';
import {pkiRows} from './pki.js';
import {requestRows} from './requests.js';
import type {Row} from './row.js';
import {rolloutRows} from './rollout.js';
import {schedulingRows} from './scheduling.js';
import {servingRows} from './serving.js';
import {simulationRows} from './simulation.js';
import {startUpRows} from './start-up.js';
import {storeRows} from './store.js';
import {stuckRequestRows} from './stuck-requests.js';
import {watchRows} from './watch.js';

/** The benchmarks by subject. Arguments select some of them. */
const subjects: Record<string, () => Promise<Row[]> | AsyncIterable<Row>> = {
  'start-up': startUpRows,
  requests: requestRows,
  fairness: fairnessRows,
  watch: watchRows,
  certificates: certificateRows,
  garbage: garbageRows,
  scheduling: schedulingRows,
  definitions: definitionRows,
  simulation: simulationRows,
  rollout: rolloutRows,
  looks: controllerSyncRows,
  many: manyRows,
  stuck: stuckRequestRows,
  serving: servingRows,
  store: storeRows,
  etcd: etcdRows,
  pki: pkiRows,
};

const number = (value: number | undefined): string =>
  value === undefined ? '' : value >= 100 ? Math.round(value).toLocaleString('en-US') : value.toPrecision(3);

const cellsOf = ({name, value, unit, baseline, ratio, note}: Row): string[] => [
  name,
  number(value),
  unit,
  number(baseline),
  ratio === undefined ? '' : `${Math.round(ratio * 100)} %`,
  note ?? '',
];

const header = ['what', 'figure', 'unit', 'raw limit', 'ratio', 'note'];
const isRightAligned = new Set([1, 3, 4]);

/** Formats cells in columns, numbers right-aligned. */
const lineOf = (cells: readonly string[], widths: readonly number[]): string =>
  cells
    .map((cell, column) => (isRightAligned.has(column) ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!)))
    .join('  ')
    .trimEnd();

/** Formats rows as a table. */
const tableOf = (rows: readonly Row[]): string => {
  const lines = [header, ...rows.map(cellsOf)];
  const widths = header.map((_, column) => Math.max(...lines.map(cells => cells[column]!.length)));
  return lines.map(cells => lineOf(cells, widths)).join('\n');
};

/** Column widths for rows that are printed before all are known. */
const defaultWidths = [46, 8, 5, 9, 6, 0];

/** Prints rows as they come, or all of them as a table. */
const print = async (rows: Promise<Row[]> | AsyncIterable<Row>): Promise<void> => {
  if (!(Symbol.asyncIterator in rows)) return console.log(tableOf(await rows));
  console.log(lineOf(header, defaultWidths));
  for await (const each of rows) console.log(lineOf(cellsOf(each), defaultWidths));
};

const selected = process.argv.slice(2);
const unknown = selected.find(name => !(name in subjects));
if (unknown !== undefined) {
  console.error(`there is nothing to measure named ${unknown}: choose of ${Object.keys(subjects).join(', ')}`);
  process.exit(1);
}
for (const [name, rows] of Object.entries(subjects)) {
  if (selected.length > 0 && !selected.includes(name)) continue;
  console.log(name);
  await print(rows());
  console.log();
}
