import test from 'ava';
import {noMeter} from '#src/base/meter.js';
import {seededRandom} from '#src/base/random.js';
import {conversionMetrics} from '#src/apiserver/custom/conversion-metrics.js';
import {RecordTranslation} from '#src/apiserver/custom/records.js';
import {translatedStore} from '#src/storage/translated-store.js';
import {webhookConversion} from '#src/apiserver/custom/webhook-conversion.js';
import type {Definition} from '#src/resources/apiextensions/types.js';
import {customFamily} from '#src/resources/custom/family.js';
import type {Change, Store, Watcher} from '#src/storage/store.js';
import {first, hostPort, reviewOf, second, startConverting, twoVersions} from './converting.js';
import {definitions, widgets} from './custom.js';
import {words} from './wire.js';
import {asking, converter, webhook} from './conversion-stage.js';

test.after.always(() => webhook.close());

test('a watch sends an error for an object that cannot be converted, after those that could, and ends', async t => {
  using env = await startConverting();
  const hook = converter();
  await env.define(twoVersions(asking(hook)));
  using stream = await env.watch(`${second}?watch=1`);
  await env.post(widgets, first('a', 'one:1'));
  await env.eventually(() => stream.events.length === 1);
  hook.answer = requested => reviewOf(requested, hostPort, {result: {status: 'Failure', message: 'no way'}});
  await env.post(widgets, first('b', 'two:2'));
  await env.eventually(() => stream.ended);
  t.deepEqual(
    stream.events.map(({type, object}) => [type, object.host ?? object.message]),
    [
      ['ADDED', 'one'],
      ['ERROR', 'Internal error occurred: conversion webhook for example.com/v1, Kind=Widget failed: no way'],
    ],
  );
  t.like(stream.events[1]!.object, {code: 500, reason: 'InternalError'});
});

test('events stay in order while a webhook is slow, and deleted objects keep their last state', async t => {
  using env = await startConverting();
  const hook = converter();
  await env.define(twoVersions(asking(hook)));
  using stream = await env.watch(`${second}?watch=1`);
  let release = (): void => undefined;
  hook.held = new Promise(resolve => {
    release = resolve;
  });
  await env.post(widgets, first('a', 'one:1'));
  hook.held = undefined;
  await env.post(widgets, first('b', 'two:2'));
  await env.remove(`${widgets}/a`);
  t.deepEqual(stream.events, []);
  release();
  await env.eventually(() => stream.events.length === 3);
  t.deepEqual(
    stream.events.map(({type, object}) => [type, object.metadata!.name, object.host]),
    [
      ['ADDED', 'a', 'one'],
      ['ADDED', 'b', 'two'],
      ['DELETED', 'a', 'one'],
    ],
  );
});

test('a batch of changes is converted in one call, and a failing one does not hold back those before it', async t => {
  using env = await startConverting();
  const hook = converter();
  await env.define(twoVersions(asking(hook)));
  await env.post(widgets, first('seed', 'one:1'));
  const {value} = (await env.store.get('/registry/example.com/widgets/default/seed'))!;
  const record = (name: string, revision: number) => ({
    key: `/registry/example.com/widgets/default/${name}`,
    revision,
    created: revision,
    value: Buffer.from(value.toString('latin1').replace('"seed"', `"${name}"`), 'latin1'),
  });
  let emit: (batch: Change[]) => void = () => undefined;
  const store: Store = Object.assign(Object.create(env.store) as Store, {
    watch: (_: unknown, watcher: Watcher) => {
      emit = batch => watcher.changes(batch);
      return {[Symbol.dispose]: () => undefined};
    },
  } satisfies Pick<Store, 'watch'>);
  const received: string[] = [];
  const parts = {
    naming: words,
    clock: env.clock,
    random: seededRandom(5),
    caller: env.caller,
    metrics: conversionMetrics(noMeter, env.clock),
  };
  const definition = (await env.get(`${definitions}/widgets.example.com`)).json() as Definition;
  const family = customFamily(definition, env.server.registry.settings);
  const seen = translatedStore(
    store,
    new RecordTranslation(family, family.versions[1]!, webhookConversion(definition, parts)),
    new AbortController().signal,
  );
  seen.watch(
    {start: '', end: '', after: 0},
    {
      changes: batch =>
        received.push(...batch.map(({key, record: now}) => `${key.split('/').at(-1)} ${now!.value.includes('"host":"one"')}`)),
      ended: error => received.push(error!.message),
    },
  );
  const change = (name: string, revision: number): Change => ({revision, key: record(name, revision).key, record: record(name, revision)});

  emit([change('aaaa', 100), change('bbbb', 101), change('cccc', 102)]);
  await env.eventually(() => received.length === 3);
  t.deepEqual(received, ['aaaa true', 'bbbb true', 'cccc true']);
  t.is(hook.requested.length, 1);

  hook.convert = (object, version) => (object.metadata!.name === 'eeee' ? object : hostPort(object, version));
  received.length = 0;
  emit([change('dddd', 103), change('eeee', 104), change('ffff', 105)]);
  await env.eventually(() => received.length === 2);
  t.is(received[0], 'dddd true');
  t.regex(received[1]!, /invalid groupVersion/);
});
