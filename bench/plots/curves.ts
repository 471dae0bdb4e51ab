import type {Row} from '#bench/run/row.js';
import {fittingScale, logScale, shortNumber} from './scale.js';
import {drawing, element, line, polyline, text, type Point} from './svg.js';

const [width, height, columns] = [300, 200, 3];
const margin = {left: 46, right: 14, top: 30, bottom: 34};
const color = '#2563eb';

/** Draws one curve with its axes. The axis of what was raised is logarithmic. */
export const curvePanel = ({name, unit, series}: Row): string => {
  const {axis, points} = series!;
  const [left, right, top, bottom] = [margin.left, width - margin.right, margin.top, height - margin.bottom];
  const x = logScale(
    points.map(([size]) => size),
    [left, right],
  );
  const y = fittingScale(
    points.map(([, value]) => value),
    [bottom, top],
  );
  return [
    text(`${name}, ${unit}`, [left - 36, 16], {'font-weight': 'bold'}),
    ...y.ticks.flatMap(tick => [
      line([left, y.at(tick)], [right, y.at(tick)], {stroke: '#eee'}),
      text(shortNumber(tick), [left - 5, y.at(tick) + 4], {'text-anchor': 'end'}),
    ]),
    ...x.ticks.map(tick => text(shortNumber(tick), [x.at(tick), bottom + 14], {'text-anchor': 'middle'})),
    line([left, bottom], [right, bottom]),
    text(axis, [(left + right) / 2, bottom + 28], {'text-anchor': 'middle', fill: '#777'}),
    polyline(
      points.map(([size, value]): Point => [x.at(size), y.at(value)]),
      color,
    ),
  ].join('');
};

/** Draws curves beside and below each other. */
export const curvesDrawing = (rows: readonly Row[]): string => {
  const across = Math.min(columns, rows.length);
  return drawing(
    across * width,
    Math.ceil(rows.length / columns) * height,
    rows.map((row, index) =>
      element('g', {transform: `translate(${(index % columns) * width} ${Math.floor(index / columns) * height})`}, curvePanel(row)),
    ),
  );
};
