import test from 'ava';
import {loadKeys, measurementsOf} from '#bench/comparison/measurements.js';

const run = (...wanted: string[]) => measurementsOf(key => wanted.includes(key)).map(({key}) => key);

test('nothing loads a server for rows without load', t => {
  t.deepEqual(run('memory-idle'), []);
});

test('a row needs the objects that it reads or changes', t => {
  t.deepEqual(run('create'), ['create']);
  t.deepEqual(run('get'), ['create', 'get']);
  t.deepEqual(run('replicas', 'update'), ['create', 'update', 'replicas']);
});

test('a list reads as many objects whether it is measured alone or with all others', t => {
  const writes = ['create', 'create-one', 'update', 'patch', 'apply'];

  t.deepEqual(run('list'), [...writes, 'list']);
  t.deepEqual(run('list-table', 'get'), ['create', 'create-one', 'get', 'update', 'patch', 'apply', 'list-table']);
  t.deepEqual(run(...loadKeys), [...loadKeys]);
});
