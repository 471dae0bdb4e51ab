import type {Row} from './row.js';

const number = (value: number | undefined): string =>
  value === undefined ? '' : value >= 100 ? Math.round(value).toLocaleString('en-US') : value.toPrecision(3);

const cellsOf = ({name, value, unit, baseline, ratio, note, server}: Row): string[] => [
  server === undefined ? name : `${name}, ${server}`,
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
export const tableOf = (rows: readonly Row[]): string => {
  const lines = [header, ...rows.map(cellsOf)];
  const widths = header.map((_, column) => Math.max(...lines.map(cells => cells[column]!.length)));
  return lines.map(cells => lineOf(cells, widths)).join('\n');
};

/** Column widths for rows that are printed before all are known. */
const defaultWidths = [46, 8, 5, 9, 6, 0];

/** The line above rows that are printed as they come. */
export const headerLine = lineOf(header, defaultWidths);

/** Formats a row that is printed before the next is known. */
export const rowLine = (row: Row): string => lineOf(cellsOf(row), defaultWidths);
