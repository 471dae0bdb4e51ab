import test from 'ava';
import {oneLine} from '#src/program/program.js';

test('a failure is shown in one line, with the causes that add something', t => {
  const cause = new Error('unix:///a.sock: dial unix: no such file');
  t.is(oneLine(new Error('cannot start', {cause})), 'cannot start: unix:///a.sock: dial unix: no such file');
  t.is(
    oneLine(new Error('unix:///b.sock is away:\n dial unix: no such file', {cause})),
    `unix:///b.sock is away: dial unix: no such file: ${cause.message}`,
  );
  t.is(
    oneLine(new Error('endpoint "unix:///a.sock": desc = dial unix: no such file', {cause})),
    'endpoint "unix:///a.sock": desc = dial unix: no such file',
  );
});
