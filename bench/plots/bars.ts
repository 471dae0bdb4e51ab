import {shortNumber, type Scale} from './scale.js';
import {drawing, element, line, text} from './svg.js';

/** Bars of one row, the first above. */
export interface Bars {
  readonly label: string;
  readonly values: readonly {readonly value: number; readonly color: string}[];
}

export interface BarSettings {
  readonly unit: string;
  /** Makes the scale for a range of pixels. */
  scale(range: readonly [number, number]): Scale;
  /** Values to mark with a dark line. */
  readonly marks: readonly number[];
  readonly legend: readonly {readonly label: string; readonly color: string}[];
}

const [width, labelWidth, barHeight, gap, top] = [760, 290, 9, 8, 46];

/** Draws rows of horizontal bars. */
export const barsDrawing = (rows: readonly Bars[], {unit, scale, marks, legend}: BarSettings): string => {
  const {at, ticks} = scale([labelWidth, width - 50]);
  const perRow = Math.max(...rows.map(({values}) => values.length)) * barHeight + gap;
  const bottom = top + rows.length * perRow;
  const legends = legend.map(({label, color}, index) => {
    const x = labelWidth + index * 150;
    return element('rect', {x, y: 6, width: 10, height: 10, fill: color}) + text(label, [x + 15, 15]);
  });
  const axis = ticks.map(
    tick =>
      line([at(tick), top - 4], [at(tick), bottom], {stroke: '#eee'}) +
      text(`${shortNumber(tick)}${unit}`, [at(tick), top - 10], {'text-anchor': 'middle', fill: '#777'}),
  );
  const drawn = rows.map(({label, values}, index) => {
    const y = top + index * perRow;
    const bars = values.map(
      ({value, color}, n) =>
        element('rect', {
          x: labelWidth,
          y: y + n * barHeight,
          width: Math.max(1, at(value) - labelWidth),
          height: barHeight - 1,
          fill: color,
        }) +
        text(`${shortNumber(Number(value.toPrecision(2)))}${unit}`, [Math.max(labelWidth, at(value)) + 4, y + n * barHeight + 8], {
          'font-size': 9,
        }),
    );
    return text(label, [labelWidth - 8, y + (values.length * barHeight) / 2 + 4], {'text-anchor': 'end'}) + bars.join('');
  });
  return drawing(width, bottom + 8, [
    ...legends,
    ...axis,
    ...drawn,
    ...marks.map(mark => line([at(mark), top - 4], [at(mark), bottom], {stroke: '#999', 'stroke-dasharray': '4 3'})),
  ]);
};
