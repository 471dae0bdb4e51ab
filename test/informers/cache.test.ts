import test from 'ava';
import {Cache} from '#informers/cache.js';
import type {Index} from '#informers/lister.js';
import type {ConfigMap} from '#src/api/types.js';

const keys: Index<ConfigMap> = {name: 'keys', values: ({data}) => Object.keys(data ?? {})};

const aMap = (name: string, version: number, ...values: readonly string[]): ConfigMap => ({
  metadata: {name, namespace: 'default', uid: name, resourceVersion: String(version)},
  data: Object.fromEntries(values.map(value => [value, ''])),
});

const many = Array.from({length: 20}, (_, at) => `v${at}`);

for (const [title, before, now] of [
  ['few', ['a', 'b', 'c'], ['b', 'c', 'd']],
  ['many', many, [...many.slice(5), 'w']],
  ['no more', ['a', 'b'], []],
  ['for the first time some', [], ['a', 'b']],
] as const) {
  test(`an object that changes is found by the values that it has, in its new state, and by no others: ${title}`, t => {
    const cache = new Cache<ConfigMap>();
    cache.apply(aMap('other', 1, 'a', 'v0'));
    t.is(cache.by(keys, 'a').length, 1);
    cache.apply(aMap('map', 2, ...before));
    const changed = aMap('map', 3, ...now);
    cache.apply(changed);

    for (const value of new Set([...before, ...now])) {
      t.is(cache.by(keys, value).includes(changed), (now as readonly string[]).includes(value), value);
      t.is(
        cache.by(keys, value).filter(({metadata}) => metadata?.name === 'map').length,
        (now as readonly string[]).includes(value) ? 1 : 0,
      );
    }
    t.is(cache.by(keys, 'a').filter(({metadata}) => metadata?.name === 'other').length, 1);
  });
}

test('an object that a first list has twice is added, and then updated if its version is newer', t => {
  const cache = new Cache<ConfigMap>();
  const [first, other, newer] = [aMap('map', 1, 'a'), aMap('other', 2, 'a'), aMap('map', 3, 'b')];

  const changes = cache.addListed([first, other, first, newer]);

  t.deepEqual(changes, [
    {type: 'added', object: first, initial: true},
    {type: 'added', object: other, initial: true},
    {type: 'updated', object: newer, old: first},
  ]);
  t.deepEqual(cache.list('default'), [newer, other]);
  t.deepEqual(cache.by(keys, 'a'), [other]);
});
