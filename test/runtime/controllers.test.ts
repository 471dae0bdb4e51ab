import test, {type ExecutionContext} from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {keyText} from '#src/api/key.js';
import {alreadyExists, conflict, forbidden, notFound, plainFailure} from '#src/api/status.js';
import {requeueAfter, defineController, Expected, settled, Terminal} from '#src/runtime/controller.js';
import {startManager} from './environment.js';
import {aMap, minute, noting} from './noting.js';

test('a key is enqueued when its object is listed, added, updated and deleted', async t => {
  const seen: string[] = [];
  let read: string | undefined;
  const controller = defineController({
    doc: 'Reads.',
    name: 'reading-controller',
    serviceAccount: 'reader',
    primary: kinds.configMaps,
    create:
      ({lister}) =>
      async key => {
        read = lister(kinds.configMaps).get(key)?.data?.k;
        seen.push(`${keyText(key)}=${read}`);
        return settled;
      },
  });
  const {create, client, clock, start, manager} = startManager(t, [controller]);
  const a = await create(kinds.configMaps, aMap('a', {data: {k: '1'}}));

  await start();
  await manager.ready;
  await client.resource(kinds.configMaps).update({...a, data: {k: '2'}});
  await clock.drain();
  await client.resource(kinds.configMaps).delete('a', {namespace: 'default'});
  await clock.drain();

  t.deepEqual(seen, ['default/a=1', 'default/a=2', 'default/a=undefined']);
});

test('a failing key is retried later and later, and forgotten once it is well', async t => {
  const at: number[] = [];
  const retries: number[] = [];
  const controller = noting(async (_, attempt) => {
    retries.push(attempt.retries);
    at.push(clock.monotonic());
    if (at.length < 5) throw new Error('not yet');
    return settled;
  });
  const {clock, create, start, meter, lines} = startManager(t, [controller]);
  await start();

  await create(kinds.configMaps, aMap('a'));
  await clock.advance(minute);

  t.deepEqual(
    at.slice(1).map((time, index) => time - at[index]!),
    [5, 10, 20, 40],
  );
  t.deepEqual(retries, [0, 1, 2, 3, 4]);
  t.is(lines.filter(line => line === 'error reconciling failed and is tried again').length, 4);
  t.is(meter.value('controller_runtime_reconcile_total', {controller: 'noting-controller', result: 'error'}), 4);
  t.is(meter.value('controller_runtime_reconcile_total', {controller: 'noting-controller', result: 'success'}), 1);
  t.is(meter.value('workqueue_depth', {name: 'noting-controller'}), 0);
});

test('a terminal error is not retried, until something changes', async t => {
  let attempts = 0;
  const controller = noting(async () => {
    attempts++;
    throw new Terminal('hopeless');
  });
  const {clock, client, create, start, lines} = startManager(t, [controller]);
  await start();
  const a = await create(kinds.configMaps, aMap('a'));
  await clock.advance(60 * minute);
  t.is(attempts, 1);

  await client.resource(kinds.configMaps).update({...a, data: {k: 'v'}});
  await clock.advance(minute);

  t.is(attempts, 2);
  t.true(lines.includes('error reconciling failed for good'));
});

test('a retry cap ends retrying', async t => {
  let attempts = 0;
  const controller = noting(
    async () => {
      attempts++;
      throw new Error('again');
    },
    {queue: {maxRetries: 3}},
  );
  const {clock, create, start} = startManager(t, [controller]);
  await start();

  await create(kinds.configMaps, aMap('a'));
  await clock.advance(60 * minute);

  t.is(attempts, 4);
});

test('an expected failure is retried without an error line', async t => {
  let attempts = 0;
  const controller = noting(async () => {
    if (++attempts < 3) throw new Expected('not approved yet');
    return settled;
  });
  const {clock, create, start, lines} = startManager(t, [controller]);
  await start();

  await create(kinds.configMaps, aMap('a'));
  await clock.advance(minute);

  t.is(attempts, 3);
  t.false(lines.some(line => line.startsWith('error')));
});

test('a conflict is logged only when it persists', async t => {
  let attempts = 0;
  const controller = noting(async () => {
    if (++attempts <= 12) throw conflict({group: '', resource: 'configmaps'}, 'a');
    return settled;
  });
  const {clock, create, start, lines} = startManager(t, [controller]);
  await start();

  await create(kinds.configMaps, aMap('a'));
  await clock.advance(minute);

  t.is(attempts, 13);
  t.deepEqual(
    lines.filter(line => line.startsWith('error')),
    ['error reconciling failed and is tried again', 'error reconciling failed and is tried again'],
  );
});

const maps = {group: '', resource: 'configmaps'};
const ending = forbidden(maps, 'a', 'the namespace ends', [
  {reason: 'NamespaceTerminating', message: 'it ends', field: 'metadata.namespace'},
]);

/** How many error lines there are about a key that fails so for a minute. */
const errorLines = async (t: ExecutionContext, error: Error, times = 10): Promise<number> => {
  let attempts = 0;
  const controller = noting(async () => {
    if (++attempts <= times) throw error;
    return settled;
  });
  const {clock, create, start, lines} = startManager(t, [controller]);
  await start();
  await create(kinds.configMaps, aMap('a'));
  await clock.advance(minute);
  return lines.filter(line => line.startsWith('error')).length;
};

for (const [what, error] of [
  ['an object that is gone', notFound(maps, 'a')],
  ['an object that is there already', alreadyExists(maps, 'a')],
  ['a namespace that ends', ending],
  ['several of these, as the causes of other errors', new AggregateError([notFound(maps, 'a'), new Error('no child', {cause: ending})])],
] as const) {
  test(`a reconcile that fails for ${what} is retried without an error line`, async t => {
    t.is(await errorLines(t, error), 0);
  });
}

test('a missing object that the cache had time to see is an error, and so is one with other failures', async t => {
  t.is(await errorLines(t, notFound(maps, 'a'), 12), 2);
  t.is(await errorLines(t, ending, 12), 0);
  t.is(await errorLines(t, new AggregateError([notFound(maps, 'a'), plainFailure('the disk is full')]), 1), 1);
});

test('a key that is requeued after a time is handled at that time', async t => {
  const at: number[] = [];
  const controller = noting(async () => {
    at.push(clock.monotonic());
    return at.length < 3 ? requeueAfter(60 * minute) : settled;
  });
  const {clock, create, start} = startManager(t, [controller]);
  await start();

  await create(kinds.configMaps, aMap('a'));
  await clock.advance(24 * 60 * minute);

  t.deepEqual(at, [0, 60 * minute, 120 * minute]);
});

test('writes carry namespace, name and preconditions, and leave the cached object alone', async t => {
  const outcomes: string[] = [];
  const controller = noting(async () => settled, {
    create:
      ({lister, writer, events}) =>
      async key => {
        const found = lister(kinds.configMaps).get(key);
        if (!found) return settled;
        const writing = writer(kinds.configMaps);
        await writing.patch(found, 'merge', {data: {k: 'v'}});
        await writing.delete(found, {onlyIf: 'unchanged'}).catch(error => outcomes.push(error.reason));
        await writing.delete(found);
        events.normal(found, 'Gone', 'it is gone');
        outcomes.push(String(found.data?.k));
        return settled;
      },
  });
  const {client, create, clock, start} = startManager(t, [controller]);
  await start();

  await create(kinds.configMaps, aMap('a'));
  await clock.drain();

  t.deepEqual(outcomes, ['Conflict', 'undefined']);
  t.deepEqual((await client.resource(kinds.configMaps).list()).items, []);
  t.like((await client.resource(kinds.coreEvents).list()).items[0], {
    reason: 'Gone',
    source: {component: 'noting-controller'},
    involvedObject: {kind: 'ConfigMap', name: 'a'},
  });
});

test('a source that was not declared cannot be read later', async t => {
  const errors: unknown[] = [];
  const controller = noting(async () => settled, {
    create:
      ({lister}) =>
      async () => {
        lister(kinds.nodes);
        return settled;
      },
  });
  const {create, start, fields} = startManager(t, [controller]);
  await start();

  await create(kinds.configMaps, aMap('a'));

  for (const {err} of fields) if (err) errors.push((err as Error).message);
  t.deepEqual(errors, ['noting-controller reads nodes without having declared it']);
});

test('a pause within an attempt lets virtual time go on and ends with the stop', async t => {
  const log: string[] = [];
  const controller = noting(async (_, {pause}) => {
    await pause(100);
    log.push(`paused until ${clock.monotonic()}`);
    await pause(minute);
    log.push('never');
    return settled;
  });
  const {clock, create, start, stop, end} = startManager(t, [controller]);
  await start();
  await create(kinds.configMaps, aMap('a'));
  await clock.advance(1000);

  stop();
  await clock.drain();

  t.deepEqual(log, ['paused until 100']);
  t.is(end.ending, 'stopped');
});
