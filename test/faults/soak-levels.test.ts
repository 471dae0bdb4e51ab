import test from 'ava';
import {growth, tableOf, type Figure} from './soak/levels.js';

const files: Figure = {name: 'files', part: 0.1, amount: 2};

test('a figure that goes up and down is level', t => {
  t.is(growth(files, [20, 31, 22, 30, 21, 29, 22, 31]), undefined);
});

test('a figure that grows a little each time is named, with its size before and after', t => {
  t.is(growth(files, [20, 22, 24, 26, 28, 30, 32, 34]), 'files grew from 23 to 31');
});

test('a figure may be higher later by what it may grow, and no more', t => {
  t.is(growth(files, [20, 20, 24, 24]), undefined);
  t.is(growth(files, [20, 20, 24.1, 24.1]), 'files grew from 20 to 24.1');
});

test('the table has a line for each measurement', t => {
  t.deepEqual(tableOf([files], [[3], [20.25]]), ['cycle  files', '    1      3', '    2   20.3']);
});
