import {getEventListeners} from 'node:events';
import test from 'ava';
import {Lru} from '#src/base/lru.js';
import {exponentialBuckets} from '#src/base/meter.js';
import {firstOf} from '#src/base/signals.js';

test('linked signals abort with the first of them, and leave nothing on the others', t => {
  const [a, b] = [new AbortController(), new AbortController()];
  const linked = firstOf(a.signal, undefined, b.signal);
  t.false(linked.signal.aborted);

  b.abort('enough');

  t.is(linked.signal.reason, 'enough');
  t.deepEqual(getEventListeners(a.signal, 'abort'), []);
});

test('a signal linked to one that has aborted has aborted too', t => {
  const a = new AbortController();
  t.is(firstOf(a.signal, AbortSignal.abort('before')).signal.reason, 'before');
  t.deepEqual(getEventListeners(a.signal, 'abort'), []);
});

test('a link that is disposed of hears nothing more', t => {
  const a = new AbortController();
  const linked = firstOf(a.signal);

  linked[Symbol.dispose]();
  a.abort();

  t.false(linked.signal.aborted);
});

test('a bounded map forgets what was not used for longest', t => {
  const map = new Lru<string, number>(2);
  map.set('a', 1);
  map.set('b', 2);
  t.is(map.get('a'), 1);

  map.set('c', 3);

  t.deepEqual([map.get('a'), map.get('b'), map.get('c'), map.size], [1, undefined, 3, 2]);
});

test('exponential bounds are round numbers', t => {
  t.deepEqual(exponentialBuckets(1e-8, 10, 4), [1e-8, 1e-7, 1e-6, 1e-5]);
});
