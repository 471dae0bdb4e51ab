import test from 'ava';
import {inTurns, medianRow} from '#bench/run/rounds.js';
import {row, type Row} from '#bench/run/row.js';

test('servers are measured in turns, each second round in the opposite order, and a row is the median of its rounds', async t => {
  const order: string[] = [];
  const steps: string[] = [];
  const figures = {plat: [3, 1, 2], original: [10, 30, 20]};
  const contender = (name: 'plat' | 'original', server?: string) => ({
    ...(server ? {server} : {}),
    async *rows(run: {step(text: string): void}, isLast: boolean): AsyncGenerator<Row> {
      order.push(name);
      run.step('create');
      yield row('create', figures[name].shift()!, '/s', {key: 'create'});
      if (isLast) yield row('memory', 5, 'MB', {key: 'memory'});
    },
  });
  const run = {wants: () => true, step: (text: string) => void steps.push(text)};
  const rows = [];
  for await (const each of inTurns([contender('plat'), contender('original', 'original')], run, 3)) rows.push(each);

  t.deepEqual(order, ['plat', 'original', 'original', 'plat', 'plat', 'original']);
  t.deepEqual(
    rows.map(({key, value, server, rounds}) => [key, server, value, rounds]),
    [
      ['create', undefined, 2, [1, 2, 3]],
      ['create', 'original', 20, [10, 20, 30]],
      ['memory', undefined, 5, [5]],
      ['memory', 'original', 5, [5]],
    ],
  );
  t.is(steps[3], 'round 1 of 3, original, create');
});

test('the note of a row is that of its median round', t => {
  const rows = [3, 1, 2].map(value => row('x', value, 'ms', {note: `note ${value}`}));

  t.is(medianRow(rows).note, 'note 2');
});
