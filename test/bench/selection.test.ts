import test from 'ava';
import {select} from '#bench/run/selection.js';
import type {Subject} from '#bench/run/subject.js';
import {subjects} from '#bench/subjects.js';

const aSubject = (name: string, rows?: readonly string[]): Subject => ({name, ...(rows ? {rows} : {}), measure: async () => []});
const some = [aSubject('comparison', ['create', 'list']), aSubject('store'), aSubject('growth', ['growth-nodes'])];

/** What names select: each subject with its rows that are wanted. */
const selected = (...names: string[]) =>
  select(some, names).map(({subject: {name, rows = []}, wants}) => [name, ...rows.filter(row => wants(row))]);

test('no name selects everything', t => {
  t.deepEqual(selected(), [['comparison', 'create', 'list'], ['store'], ['growth', 'growth-nodes']]);
});

test('a subject on request is selected by its name alone', t => {
  const withOther = [...some, {...aSubject('parts'), isOnRequest: true}];
  const names = (given: readonly string[]) => select(withOther, given).map(({subject}) => subject.name);

  t.deepEqual(names([]), ['comparison', 'store', 'growth']);
  t.deepEqual(names(['parts']), ['parts']);
});

test('the name of a row selects that row of its subject alone', t => {
  t.deepEqual(selected('list'), [['comparison', 'list']]);
});

test('the name of a subject selects all of its rows, beside rows of others', t => {
  t.deepEqual(selected('growth', 'create', 'store'), [['comparison', 'create'], ['store'], ['growth', 'growth-nodes']]);
});

test('an unknown name is refused with the names there are', t => {
  t.throws(() => select(some, ['create', 'creates']), {
    message: 'there is nothing to measure named creates: choose of comparison, create, list, store, growth, growth-nodes',
  });
});

test('a name selects one thing', t => {
  const names = subjects.flatMap(({name, rows = []}) => [name, ...rows]);

  t.deepEqual(
    names.filter((name, index) => names.indexOf(name) !== index),
    [],
  );
});
