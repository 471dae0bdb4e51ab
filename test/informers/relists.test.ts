import test from 'ava';
import {Cache} from '#informers/cache.js';
import type {Change} from '#informers/change.js';
import {Delivery} from '#informers/delivery.js';
import {indexing, type Grouping, type Index} from '#informers/lister.js';
import type {ConfigMap} from '#src/api/types.js';
import {noLog} from '#src/base/log.js';
import {runStepsYielding} from '#src/base/steps.js';
import {Yielder} from '#src/base/turn.js';
import {WorkingClock} from '#test/fixtures/working-clock.js';

const count = 2_000;
const namesOf = (objects: Iterable<{readonly metadata?: {readonly name?: string}}>): string[] =>
  Array.from(objects, ({metadata}) => metadata!.name!);

const mapOf = (index: number, resourceVersion: number, {uid = `uid-${index}`} = {}): ConfigMap => ({
  metadata: {namespace: 'default', name: `map-${index}`, uid, resourceVersion: String(resourceVersion), labels: {part: String(index % 10)}},
});

const mapsOf = (from: number, to: number, resourceVersion: number): ConfigMap[] =>
  Array.from({length: to - from}, (_, index) => mapOf(from + index, resourceVersion));

/** A cache with 2,000 objects behind a delivery. Indexing an object takes 0.02 ms. */
const cached = () => {
  const clock = new WorkingClock();
  const cache = new Cache<ConfigMap>();
  const changes: Change<ConfigMap>[] = [];
  const listener = {next: (change: Change<ConfigMap>) => void changes.push(change), complete() {}};
  const failures: unknown[] = [];
  const delivery = new Delivery<ConfigMap>({
    clock,
    log: noLog,
    name: 'configmaps',
    listeners: () => [listener],
    failed: error => failures.push(error),
  });
  const byPart: Index<ConfigMap> = {
    name: 'part',
    values({metadata}) {
      clock.work(0.02);
      return [metadata?.labels?.['part'] ?? ''];
    },
  };
  const grouping: Grouping<ConfigMap> = {
    name: 'parts',
    place({metadata}) {
      clock.work(0.02);
      return [metadata?.namespace ?? '', metadata?.labels?.['part'] ?? ''];
    },
  };
  const replace = (objects: readonly ConfigMap[]) => delivery.add(() => cache.replacing(objects));
  /** Fills the cache, and builds its indexes. */
  const fill = async () => {
    replace(mapsOf(0, count, 1));
    await clock.drain();
    cache.by(byPart, '');
    cache.groups(grouping, '');
    await clock.drain();
    changes.length = 0;
    clock.longestMs = 0;
  };
  return {clock, cache, changes, failures, delivery, byPart, grouping, replace, fill};
};

test('a new list replaces the cache and its indexes in slices, and readers see all of it or nothing', async t => {
  const {clock, cache, byPart, grouping, replace, fill} = cached();
  await fill();
  const seen = new Set<string>();
  const look = (): void => {
    const versions = (objects: Iterable<ConfigMap>) => [...new Set(Array.from(objects, ({metadata}) => metadata!.resourceVersion))].join();
    const inGroups = [...cache.groups(grouping, 'default')].flatMap(group => [...group.values()]) as ConfigMap[];
    const indexed = Array.from({length: 10}, (_, part) => cache.by(byPart, String(part))).flat() as ConfigMap[];
    for (const found of [cache.list(), cache.list('default'), indexed, inGroups] as ConfigMap[][])
      seen.add(`${found.length} at ${versions(found)}`);
    if (cache.get('default/map-0')?.metadata?.resourceVersion === '1') setImmediate(look);
  };

  replace(mapsOf(0, count - 500, 2));
  look();
  await clock.drain();

  t.deepEqual([...seen], ['2000 at 1', '1500 at 2']);
  t.true(clock.longestMs <= 10, `${clock.longestMs} ms in one turn`);
});

test('a new list is delivered as deletions and then the changes of objects, and an object that is the same is kept', async t => {
  const {clock, cache, changes, replace, fill} = cached();
  await fill();
  const kept = cache.get('default/map-700');

  replace([...mapsOf(1, 600, 2), mapOf(700, 1), mapOf(701, 1, {uid: 'another'}), mapOf(count, 2)]);
  await clock.drain();

  const delivered = changes.map(({type, object}) => `${type} ${object.metadata!.name}`);
  t.is(delivered[0], 'deleted map-0');
  t.is(delivered.filter(text => text.startsWith('deleted')).length, count - 599 - 1);
  t.deepEqual(delivered.slice(-4), ['updated map-599', 'deleted map-701', 'added map-701', 'added map-2000']);
  t.is(cache.get('default/map-700'), kept);
  t.is(cache.size, 602);
});

test('changes during the replacement of the cache are applied after it', async t => {
  const {clock, cache, byPart, delivery, replace, fill} = cached();
  await fill();

  replace(mapsOf(0, count, 2));
  delivery.add(() => cache.remove(mapOf(3, 3)));
  delivery.add(() => cache.apply(mapOf(4, 3)));
  t.is(cache.get('default/map-4')?.metadata?.resourceVersion, '1');
  await clock.drain();

  t.is(cache.get('default/map-3'), undefined);
  t.is(cache.get('default/map-4')?.metadata?.resourceVersion, '3');
  t.false(namesOf(cache.by(byPart, '3')).includes('map-3'));
  t.is(cache.count(byPart, '3'), count / 10 - 1);
});

test('an index that is first used during the replacement of the cache is part of the new contents', async t => {
  const {clock, cache, replace} = cached();
  replace(mapsOf(0, count, 1));
  await clock.drain();
  let visits = 0;
  const byName: Index<ConfigMap> = {
    name: 'name',
    values({metadata}) {
      clock.work(0.02);
      visits++;
      return [metadata!.name!];
    },
  };

  replace(mapsOf(10, count + 10, 2));
  setImmediate(() => cache.by(byName, ''));
  clock.work(5);
  await clock.drain();
  visits = 0;

  t.deepEqual(namesOf(cache.by(byName, 'map-2009')), ['map-2009']);
  t.is(visits, 0);
  t.is(cache.count(byName, 'map-3'), 0);
});

test('a list whose objects fail to be read leaves the cache as it was', async t => {
  const {clock, cache, changes, failures, delivery, fill} = cached();
  await fill();

  delivery.add(() =>
    cache.replacing(
      (function* () {
        yield* mapsOf(0, 700, 2);
        throw new Error('unreadable');
      })(),
    ),
  );
  await clock.drain();

  t.is(failures.length, 1);
  t.is(cache.size, count);
  t.deepEqual(changes, []);
});

test('an index that is created while the cache is empty visits no object when it is used', async t => {
  const {clock, cache, replace} = cached();
  let visits = 0;
  const byName: Index<ConfigMap> = {
    name: 'name',
    values({metadata}) {
      visits++;
      return [metadata!.name!];
    },
  };
  const indexed = indexing(cache, byName);

  replace(mapsOf(0, count, 1));
  await clock.drain();
  t.is(visits, count);
  indexed.by(byName, 'map-7');

  t.is(visits, count);
});

for (const change of ['objects change', 'a new list comes'] as const) {
  test(`an index of a full cache is built in slices while ${change}, and has what the cache has`, async t => {
    const {clock, cache, byPart, delivery, replace} = cached();
    replace(mapsOf(0, count, 1));
    await clock.drain();
    clock.longestMs = 0;
    const moved = (index: number, resourceVersion: number): ConfigMap => {
      const object = mapOf(index, resourceVersion);
      return {...object, metadata: {...object.metadata, labels: {part: 'moved'}}};
    };

    const indexed = runStepsYielding(cache.indexing([byPart]), new Yielder(clock));
    let turns = 0;
    const write = (): void => {
      if (turns++ > 5) return;
      // One of the first, which were visited already, and one of the last, which were not.
      for (const index of [turns, count - turns]) delivery.add(() => cache.apply(moved(index, 2)));
      for (const index of [turns + 100, count - turns - 100]) delivery.add(() => cache.remove(mapOf(index, 3)));
      delivery.add(() => cache.apply(mapOf(count + turns, 2)));
      if (change === 'a new list comes' && turns === 3) replace(mapsOf(1000, count + 1000, 5));
      setImmediate(write);
    };
    setImmediate(write);
    await indexed;
    t.true(clock.longestMs <= 15, `${clock.longestMs} ms in one turn`);
    await clock.drain();
    clock.longestMs = 0;

    const found = ['moved', ...Array.from({length: 10}, (_, part) => String(part))].flatMap(part => cache.by(byPart, part) as ConfigMap[]);
    t.deepEqual(namesOf(found).sort(), namesOf(cache.list() as ConfigMap[]).sort());
    t.is(cache.count(byPart, 'moved'), (cache.list() as ConfigMap[]).filter(({metadata}) => metadata?.labels?.['part'] === 'moved').length);
    t.true(turns > 3);
    t.is(clock.longestMs, 0); // Nothing was indexed by the lookups.
  });
}
