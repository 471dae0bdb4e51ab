// Writes docs/performance/*.svg and the tables of docs/performance.md from the newest figure of each row.

import {existsSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {comparedRowOf, comparedRows, timesBetter} from '#bench/comparison/compared-rows.js';
import {axes} from '#bench/growth/growth.js';
import {newestRows, readResults, runsOf, type NewestRows, type Results} from '#bench/run/results.js';
import {barsDrawing, type Bars} from './bars.js';
import {curvesDrawing} from './curves.js';
import {linearScale, logScale} from './scale.js';
import {agentSection, comparisonSection, growthSection, originalOf, profileSection, runSection, withSection} from './sections.js';

/** The page, and the folder of its plots and figures. */
const [page, folder] = ['docs/performance.md', 'docs/performance'];
/** The figures of the page, by run; the results of a run are not committed. */
const figures = 'docs/performance/figures.json';
const here = '#2563eb';

/** Draws how many times better than the original's figures of the same run those of plat are. */
const comparisonDrawing = (newest: NewestRows): string | undefined => {
  const rows: Bars[] = [];
  for (const key of Object.keys(comparedRows)) {
    const {what, unit} = comparedRowOf(key)!;
    const measured = newest.get(key);
    const original = originalOf(key, measured, newest);
    if (!measured || !original || measured.row.value === 0 || original.value === 0) continue;
    rows.push({label: what, values: [{value: timesBetter(unit, measured.row.value, original.value), color: here}]});
  }
  if (rows.length === 0) return undefined;
  return barsDrawing(rows, {
    unit: '×',
    scale: range => logScale([...rows.map(({values}) => values[0]!.value), 1, 3], range),
    marks: [1, 3],
    legend: [{label: 'plat', color: here}],
  });
};

/** Draws the figures that have a raw limit of the same run. */
const limitDrawing = (newest: NewestRows): string | undefined => {
  const rows = [...newest.values()].flatMap(({row: {name, unit, ratio}}): Bars[] =>
    ratio === undefined || !unit.endsWith('/s') ? [] : [{label: name, values: [{value: ratio * 100, color: here}]}],
  );
  if (rows.length === 0) return undefined;
  return barsDrawing(rows, {
    unit: ' %',
    scale: range => linearScale([...rows.map(({values}) => values[0]!.value), 100], range),
    marks: [100],
    legend: [{label: 'of the raw limit', color: here}],
  });
};

/** A page on performance, and its plots by name. */
export interface Report {
  readonly text: string;
  readonly plots: Readonly<Record<string, string>>;
}

/** Returns the page with the tables of these figures, and its plots. Figures that were never measured leave no plot. */
export const reportOf = (page: string, newest: NewestRows): Report => {
  const plots: Record<string, string | undefined> = {comparison: comparisonDrawing(newest), limits: limitDrawing(newest)};
  const picture = plots['comparison'] === undefined ? '' : '![how many times better than the original](performance/comparison.svg)\n\n';
  let text = withSection(page, 'comparison', picture + comparisonSection(newest));
  for (const axis of Object.keys(axes) as (keyof typeof axes)[]) {
    const rows = Object.keys(axes[axis].curves).flatMap(key => newest.get(key)?.row ?? []);
    if (rows.length > 0) plots[axis] = curvesDrawing(rows);
    text = withSection(text, axis, growthSection(axis, newest));
  }
  text = withSection(text, 'agent', agentSection(newest));
  text = withSection(text, 'profiles', profileSection(newest));
  return {
    text: withSection(text, 'runs', runSection(newest)),
    plots: Object.fromEntries(Object.entries(plots).filter((plot): plot is [string, string] => plot[1] !== undefined)),
  };
};

/** Reads the runs that the page of a checkout is of. */
export const readFigures = (root: string): Results[] => {
  const path = join(root, figures);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Results[]) : [];
};

/**
 * Writes the page, its plots and its figures, of the newest rows of a folder of results and of the figures that the
 * page has.
 */
export const writeReport = (resultFolder: string, root = '.'): void => {
  const newest = newestRows([...readFigures(root), ...readResults(resultFolder)]);
  const {text, plots} = reportOf(readFileSync(join(root, page), 'utf8'), newest);
  writeFileSync(
    join(root, figures),
    `[\n${runsOf(newest)
      .map(run => JSON.stringify(run))
      .join(',\n')}\n]\n`,
  );
  for (const [name, svg] of Object.entries(plots)) writeFileSync(join(root, folder, `${name}.svg`), svg);
  writeFileSync(join(root, page), text);
  console.log(`written: ${page}, ${Object.keys(plots).join(', ')}`);
};
