import test, {type ExecutionContext} from 'ava';
import {noLog} from '#src/base/log.js';
import {ConfigMap, Secret} from '#src/operator/kinds.js';
import {
  createManager,
  defineController,
  generationChanged,
  isConflict,
  labelsChanged,
  selection,
  type ControllerDefinition,
  type Duration,
} from '#src/operator/index.js';
import {aPlane} from '#test/controllers/plane.js';

/** A plane on virtual time that runs a controller of config maps. */
const running = async (
  t: ExecutionContext,
  definition: Pick<ControllerDefinition<ConfigMap>, 'reconcile'> & Partial<ControllerDefinition<ConfigMap>>,
) => {
  const plane = await aPlane({naming: 'kubernetes', controllers: []});
  const {clock} = plane;
  const client = plane.client();
  const stop = new AbortController();
  const controllers = [defineController<ConfigMap>({name: 'tested', for: selection(ConfigMap, {namespace: 'default'}), ...definition})];
  const manager = createManager({controllers, client, clock, log: noLog, freeze: true});
  const run = manager.run(stop.signal);
  t.teardown(async () => {
    stop.abort();
    await run;
    await plane.stop();
  });
  await manager.ready;
  const write = async (data: Record<string, string>, labels: Record<string, string> = {}) => {
    const map = {metadata: {name: 'a', namespace: 'default', labels}, data};
    const present = await client
      .resource(ConfigMap)
      .list({namespace: 'default', fieldSelector: 'metadata.name=a'})
      .then(({items}) => items[0]);
    await (present ? client.resource(ConfigMap).update(map) : client.resource(ConfigMap).create(map));
    await clock.drain();
  };
  return {clock, plane, client, write};
};

test('an applied configuration is sent once, and again when it or the object has changed', async t => {
  const {plane, client, clock, write} = await running(t, {
    owns: [Secret],
    async reconcile({object, client: own}) {
      if (!object) return;
      await own.apply(Secret, {
        metadata: {name: 'made', namespace: 'default'},
        data: {text: Buffer.from(object.data?.['text'] ?? '').toString('base64')},
      });
    },
  });
  const counted = (code: string) => plane.api.metrics.value('apiserver_request_total', {verb: 'APPLY', resource: 'secrets', code}) ?? 0;
  const sent = () => counted('200') + counted('201');

  await write({text: 'one'});
  t.is(sent(), 1);
  await write({text: 'one', other: 'x'});
  t.is(sent(), 1);
  await write({text: 'two'});
  t.is(sent(), 2);
  await client.resource(Secret).patch('made', 'merge', {data: {text: 'AAAA'}}, {namespace: 'default'});
  await clock.drain();
  t.is(sent(), 3);
  t.is((await client.resource(Secret).get('made', {namespace: 'default'})).data?.['text'], Buffer.from('two').toString('base64'));
});

test('a patch of an object that was changed since it was read is refused', async t => {
  const outcomes: unknown[] = [];
  const {write} = await running(t, {
    async reconcile({object, client}) {
      if (!object || object.data?.['done']) return;
      await client.resource(ConfigMap).patch('a', 'merge', {data: {other: 'x'}}, {namespace: 'default'});
      await client
        .patch(object, copy => {
          copy.data = {...copy.data, done: 'yes'};
        })
        .then(
          () => outcomes.push('patched'),
          (error: unknown) => {
            outcomes.push(isConflict(error) ? 'conflict' : error);
            throw error;
          },
        );
    },
  });

  await write({text: 'one'});

  t.is(outcomes[0], 'conflict');
});

test('a member that is set to undefined is removed, and nothing is sent for one that was absent', async t => {
  const {plane, client, write} = await running(t, {
    async reconcile({object, client: own}) {
      if (!object?.data) return;
      await own.patch<ConfigMap>(object, copy => Object.assign(copy, {data: {...copy.data, absent: undefined}, binaryData: undefined}));
      await own.patch<ConfigMap>(object, copy => Object.assign(copy, {data: undefined}));
    },
  });

  await write({text: 'one'});

  t.is((await client.resource(ConfigMap).get('a', {namespace: 'default'})).data, undefined);
  t.is(plane.api.metrics.value('apiserver_request_total', {verb: 'PATCH', resource: 'configmaps', code: '200'}), 1);
});

test('an object gets the finalizer before it is reconciled, and goes after it was finalized', async t => {
  const seen: string[] = [];
  const {client, clock, write} = await running(t, {
    finalizer: 'example.com/outside',
    async reconcile({object}) {
      if (object) seen.push(`reconciled with ${object.metadata?.finalizers?.join()}`);
    },
    async finalize({object}) {
      seen.push(`finalized ${object.metadata?.name}`);
    },
  });

  await write({text: 'one'});
  await client.resource(ConfigMap).delete('a', {namespace: 'default'});
  await clock.drain();

  t.is(seen[0], 'reconciled with example.com/outside');
  t.is(seen.at(-1), 'finalized a');
  t.deepEqual((await client.resource(ConfigMap).list({namespace: 'default', fieldSelector: 'metadata.name=a'})).items, []);
});

test('predicates keep changes from queueing keys', async t => {
  const seen: unknown[] = [];
  const {write} = await running(t, {
    when: labelsChanged,
    async reconcile({object}) {
      seen.push(object?.data?.['text']);
    },
  });
  const before = seen.length;

  await write({text: 'one'});
  await write({text: 'two'});
  await write({text: 'three'}, {tier: 'front'});

  t.deepEqual(seen.slice(before), ['one', 'three']);
  t.false(generationChanged({type: 'updated', old: {metadata: {generation: 1}}, object: {metadata: {generation: 1}}}));
});

test('a declaration that cannot work is refused', t => {
  const refused = (definition: Partial<ControllerDefinition<ConfigMap>>) =>
    t.throws(() => defineController<ConfigMap>({name: 'a', for: ConfigMap, async reconcile() {}, ...definition}), {instanceOf: TypeError})
      .message;

  t.deepEqual(
    [
      refused({name: 'A b'}),
      refused({concurrency: 0}),
      refused({finalizer: 'example.com/a'}),
      refused({every: 'soon' as Duration}),
      refused({retry: {rateLimit: {perSecond: 0, burst: 1}}}),
    ],
    [
      'controller name "A b": use lower case letters, digits, - and .',
      'controller a: concurrency must be a positive integer',
      'controller a: finalizer and finalize go together',
      '"soon" is not a duration such as 30s, 1m30s or 2h',
      'controller a: retry.rateLimit needs perSecond above 0 and burst of at least 1',
    ],
  );
});
