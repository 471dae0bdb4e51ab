import test from 'ava';
import {AddressPool} from '#src/simulation/node/addresses.js';

const taken = (range: string, count: number): (string | undefined)[] => {
  const pool = new AddressPool(range);
  return Array.from({length: count}, () => pool.take());
};

test('a pool gives the addresses of its range in order, in the form of the range, until none is left', t => {
  t.deepEqual(taken('10.0.0.77/29', 6), ['10.0.0.74', '10.0.0.75', '10.0.0.76', '10.0.0.77', '10.0.0.78', undefined]);
  t.deepEqual(taken('fd00::/126', 3), ['fd00::2', 'fd00::3', undefined]);
  t.deepEqual(taken('::ffff:10.0.0.0/126', 3), ['::ffff:10.0.0.2', '::ffff:10.0.0.3', undefined]);
  t.deepEqual(taken('no range', 1), [undefined]);
});

test('a pool gives an address again after it was freed, and none that was claimed', t => {
  const pool = new AddressPool('10.0.0.0/29');
  t.true(pool.claim('10.0.0.2'));
  t.false(pool.claim('10.0.0.2'));
  t.is(pool.take(), '10.0.0.3');
  pool.free('10.0.0.2');
  t.deepEqual([pool.take(), pool.take(), pool.take(), pool.take()], ['10.0.0.4', '10.0.0.5', '10.0.0.6', '10.0.0.2']);
});
