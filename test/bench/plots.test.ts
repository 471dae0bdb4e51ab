import test from 'ava';
import {barsDrawing} from '#bench/plots/bars.js';
import {curvePanel, curvesDrawing} from '#bench/plots/curves.js';
import {fittingScale, linearScale, logScale, shortNumber} from '#bench/plots/scale.js';
import {drawing, polyline, text} from '#bench/plots/svg.js';
import {curve} from '#bench/run/row.js';

test('a polyline goes through its points, with a dot on each', t => {
  t.is(
    polyline(
      [
        [0, 10],
        [5.25, 20.04],
      ],
      'blue',
    ),
    '<polyline points="0,10 5.3,20" fill="none" stroke="blue" stroke-width="2"/><circle cx="0" cy="10" r="3" fill="blue"/><circle cx="5.3" cy="20" r="3" fill="blue"/>',
  );
});

test('texts cannot end their element', t => {
  t.is(text('a < b & "c"', [1, 2]), '<text x="1" y="2">a &lt; b &amp; &quot;c&quot;</text>');
});

test('a logarithmic scale has a mark at each power of ten, at even distances', t => {
  const {at, ticks} = logScale([3, 800], [0, 300]);

  t.deepEqual(ticks, [1, 10, 100, 1000]);
  t.deepEqual(ticks.map(at).map(Math.round), [0, 100, 200, 300]);
});

test('a linear scale begins at 0 and ends at a round value above all others', t => {
  const {at, ticks} = linearScale([12, 87], [200, 0]);

  t.deepEqual(ticks, [0, 20, 40, 60, 80, 100]);
  t.deepEqual([0, 50, 100].map(at), [200, 100, 0]);
});

test('values that differ much get a logarithmic scale, others and zero a linear one', t => {
  t.is(fittingScale([1, 100], [0, 1]).ticks[0], 1);
  t.is(fittingScale([50, 100], [0, 1]).ticks[0], 0);
  t.is(fittingScale([0, 100], [0, 1]).ticks[0], 0);
  t.is(fittingScale([0], [0, 1]).ticks[0], 0);
});

test('numbers of an axis are short', t => {
  t.deepEqual([0.123_45, 500, 10_000, 1_000_000].map(shortNumber), ['0.123', '500', '10k', '1M']);
});

test('a curve is drawn through its points: raised to the right, measured upwards', t => {
  const row = curve('start', 'ready', 'ms', {
    axis: 'objects',
    points: [
      [1000, 50],
      [10_000, 100],
      [100_000, 200],
    ],
  });

  t.regex(curvePanel(row), /<polyline points="46,132 166,98 286,30"/);
  t.regex(curvePanel(row), /<text [^>]*>ready, ms<\/text>/);
});

test('curves stand beside each other, three in a row', t => {
  const row = curve('a', 'a', 'ms', {axis: 'objects', points: [[1, 1]]});

  t.regex(curvesDrawing([row]), /viewBox="0 0 300 200"/);
  t.regex(curvesDrawing([row, row, row, row]), /viewBox="0 0 900 400"/);
});

test('a bar is as long as its value, with a line at the marks', t => {
  const svg = barsDrawing([{label: 'create', values: [{value: 50, color: 'red'}]}], {
    unit: ' %',
    scale: range => linearScale([100], range),
    marks: [100],
    legend: [{label: 'of the limit', color: 'red'}],
  });

  t.regex(svg, /<rect x="290" y="46" width="210" height="8" fill="red"\/>/);
  t.regex(svg, /<line x1="710" [^>]*stroke-dasharray/);
  t.true(svg.startsWith('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 '));
});

test('a drawing has a white ground', t => {
  t.regex(drawing(10, 20, []), /viewBox="0 0 10 20".*\n<rect width="10" height="20" fill="#fff"\/>\n<\/svg>\n$/);
});
