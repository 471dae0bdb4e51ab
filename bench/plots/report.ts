// Writes docs/performance/*.svg and the tables of docs/performance.md from the newest figure of each row.

import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {referenceOf, references} from '#bench/comparison/references.js';
import {axes} from '#bench/growth/growth.js';
import {newestRows, readResults, type NewestRow} from '#bench/run/results.js';
import {barsDrawing, type Bars} from './bars.js';
import {curvesDrawing} from './curves.js';
import {linearScale, logScale} from './scale.js';
import {comparisonSection, growthSection, profileSection, runSection, timesBetter, withSection} from './sections.js';

const page = 'docs/performance.md';
const folder = 'docs/performance';
const [here, earlierColor] = ['#2563eb', '#9ca3af'];

/** Draws how many times better than the original's figures those of this build and the earlier one are. */
const comparisonDrawing = (newest: ReadonlyMap<string, NewestRow>): string | undefined => {
  const rows: Bars[] = [];
  for (const key of Object.keys(references)) {
    const {what, unit, original, earlier} = referenceOf(key)!;
    const row = newest.get(key)?.row;
    if (original === undefined || earlier === undefined || !row || row.isReduced || row.value === 0) continue;
    rows.push({
      label: what,
      values: [
        {value: timesBetter(unit, row.value, original), color: here},
        {value: timesBetter(unit, earlier, original), color: earlierColor},
      ],
    });
  }
  if (rows.length === 0) return undefined;
  const values = rows.flatMap(({values}) => values.map(({value}) => value));
  return barsDrawing(rows, {
    unit: '×',
    scale: range => logScale([...values, 1, 3], range),
    marks: [1, 3],
    legend: [
      {label: 'this build', color: here},
      {label: 'earlier build', color: earlierColor},
    ],
  });
};

/** Draws the figures that have a raw limit of the same run. */
const limitDrawing = (newest: ReadonlyMap<string, NewestRow>): string | undefined => {
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

/** Writes the plots and the tables. Figures that were never measured leave no plot. */
export const writeReport = (resultFolder: string): void => {
  const newest = newestRows(readResults(resultFolder));
  mkdirSync(folder, {recursive: true});
  const plots: Record<string, string | undefined> = {comparison: comparisonDrawing(newest), limits: limitDrawing(newest)};
  let text = withSection(readFileSync(page, 'utf8'), 'comparison', comparisonSection(newest));
  for (const axis of Object.keys(axes) as (keyof typeof axes)[]) {
    const rows = Object.keys(axes[axis].curves).flatMap(key => newest.get(key)?.row ?? []);
    if (rows.length > 0) plots[axis] = curvesDrawing(rows);
    text = withSection(text, axis, growthSection(axis, newest));
  }
  text = withSection(text, 'profiles', profileSection(newest));
  for (const [name, svg] of Object.entries(plots)) if (svg !== undefined) writeFileSync(`${folder}/${name}.svg`, svg);
  writeFileSync(page, withSection(text, 'runs', runSection(newest)));
  console.log(
    `written: ${page}, ${Object.keys(plots)
      .filter(name => plots[name] !== undefined)
      .join(', ')}`,
  );
};
