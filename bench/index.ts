import {certificateRows} from './certificates.js';
import {definitionRows} from './definitions.js';
import {garbageRows} from './garbage.js';
import {lookRows} from './looks.js';
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
import {watchRows} from './watch.js';

/** The benchmarks by subject. Arguments select some of them. */
const subjects: Record<string, () => Promise<Row[]> | AsyncIterable<Row>> = {
  'start-up': startUpRows,
  requests: requestRows,
  watch: watchRows,
  certificates: certificateRows,
  garbage: garbageRows,
  scheduling: schedulingRows,
  definitions: definitionRows,
  simulation: simulationRows,
  rollout: rolloutRows,
  looks: lookRows,
  many: manyRows,
  serving: servingRows,
  store: storeRows,
  pki: pkiRows,
};

const number = (value: number | undefined): string =>
  value === undefined ? '' : value >= 100 ? Math.round(value).toLocaleString('en-US') : value.toPrecision(3);

const cellsOf = ({name, figure, unit, baseline, ratio, note}: Row): string[] => [
  name,
  number(figure),
  unit,
  number(baseline),
  ratio === undefined ? '' : `${Math.round(ratio * 100)} %`,
  note ?? '',
];

const header = ['what', 'figure', 'unit', 'raw limit', 'ratio', 'note'];
const toTheRight = new Set([1, 3, 4]);

/** Formats cells in columns, numbers right-aligned. */
const lineOf = (cells: readonly string[], widths: readonly number[]): string =>
  cells.map((cell, column) => (toTheRight.has(column) ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!))).join('  ').trimEnd();

/** Formats rows as a table. */
const tableOf = (rows: readonly Row[]): string => {
  const lines = [header, ...rows.map(cellsOf)];
  const widths = header.map((_, column) => Math.max(...lines.map(cells => cells[column]!.length)));
  return lines.map(cells => lineOf(cells, widths)).join('\n');
};

/** Column widths for rows that are printed before all are known. */
const usualWidths = [46, 8, 5, 9, 6, 0];

/** Prints rows as they come, or all of them as a table. */
const print = async (rows: Promise<Row[]> | AsyncIterable<Row>): Promise<void> => {
  if (!(Symbol.asyncIterator in rows)) return console.log(tableOf(await rows));
  console.log(lineOf(header, usualWidths));
  for await (const each of rows) console.log(lineOf(cellsOf(each), usualWidths));
};

const chosen = process.argv.slice(2);
const unknown = chosen.find(name => !(name in subjects));
if (unknown !== undefined) {
  console.error(`there is nothing to measure named ${unknown}: choose of ${Object.keys(subjects).join(', ')}`);
  process.exit(1);
}
for (const [name, rows] of Object.entries(subjects)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  console.log(name);
  await print(rows());
  console.log();
}
