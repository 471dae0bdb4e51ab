import test from 'ava';
import type {Status} from '#src/api/status.js';
import {
  first,
  hostPort,
  later,
  newForm,
  oldForm,
  reviewOf,
  second,
  startConverting,
  twoVersions,
  type Converter,
  type Widget,
} from './converting.js';
import {aDefinition, aVersion, aWidget, definitions, startCustom, widgets} from './custom.js';
import {asking, converter, webhook} from './conversion-stage.js';

test.after.always(() => webhook.close());

test('conversion reviews use the first version that webhook and server support, and v1beta1 is read leniently', async t => {
  using env = await startConverting();
  const hook = converter();
  await env.define(twoVersions(asking(hook, ['v9', 'v1beta1', 'v1'])));
  await env.post(widgets, first('a', 'one:1'));
  hook.answer = requested => ({...reviewOf(requested, hostPort, {uid: 'other'}), kind: undefined, apiVersion: undefined});
  t.is((await env.get(`${second}/a`)).status, 200);
  t.is(hook.requested[0]!.apiVersion, 'apiextensions.plat.io/v1beta1');
});

test('objects of the old stored version are read, and written again by a change that changes nothing', async t => {
  using env = await startConverting();
  const hook: Converter = converter();
  await env.define(twoVersions(asking(hook)));
  await env.post(widgets, first('a', 'one:1'));
  await env.redefine(twoVersions(asking(hook), 'v2'));
  t.deepEqual((await env.get(`${definitions}/widgets.example.com`)).json<{status: {storedVersions: string[]}}>().status.storedVersions, [
    'v1',
    'v2',
  ]);
  const inStore = async () => (await env.store.get('/registry/example.com/widgets/default/a'))!.value.toString('utf8', 8);

  const got = (await env.get(`${widgets}/a`)).json<Widget>();
  t.is(got.hostPort, 'one:1');
  t.regex(await inStore(), /example.com\/v1.*"hostPort":"one:1"/);
  const put = (await env.put(`${widgets}/a`, got)).json<Widget>();
  t.is(put.hostPort, 'one:1');
  t.not(put.metadata!.resourceVersion, got.metadata!.resourceVersion);
  t.regex(await inStore(), /example.com\/v2.*"host":"one","port":"1"/);
  t.is((await env.put(`${widgets}/a`, put)).json<Widget>().metadata!.resourceVersion, put.metadata!.resourceVersion);
});

test('a version that is no longer served is still read from the store, and one that is gone is refused with a message', async t => {
  using env = await startConverting();
  const hook = converter();
  await env.define(twoVersions(asking(hook)));
  const made = await env.post(widgets, first('a', 'one:1'));
  await env.redefine(twoVersions(asking(hook), 'v2', {v1: {served: false}}));
  t.is((await env.get(`${widgets}/a`)).status, 404);
  t.is((await env.get(`${second}/a`)).json<Widget>().host, 'one');

  await env.patch(
    `${definitions}/widgets.example.com/status`,
    {status: {storedVersions: ['v2']}},
    {headers: {'content-type': 'application/merge-patch+json'}},
  );
  await env.redefine(aDefinition([aVersion(newForm)], {conversion: {strategy: 'None', webhook: null}}));
  const lost = await env.get(`${second}/a`);
  t.is(lost.json<Status>().message, 'request to convert CR from an invalid group/version: example.com/v1');
  using stream = await env.watch(`${second}?watch=1&resourceVersion=${made.json().metadata!.resourceVersion}`);
  await env.store.delete('/registry/example.com/widgets/default/a', Number(made.json().metadata!.resourceVersion));
  await env.eventually(() => stream.ended);
  t.deepEqual(
    stream.events.map(({type, object}) => [type, object.message]),
    [['ERROR', 'Internal error occurred: request to convert CR from an invalid group/version: example.com/v1']],
  );
  t.is(lost.status, 500);
});

test('converted objects are pruned, and defaults are those of the stored version on reads and of the request version in the response', async t => {
  using env = await startConverting();
  const hook = converter((object, version) => ({...(hostPort(object, version) as Widget), odd: 1}));
  const spec = (origin: string) => ({
    type: 'object',
    default: {},
    properties: {[`by-${origin}`]: {type: 'string', default: origin}, size: {type: 'integer', default: origin === 'v1' ? 1 : 2}},
  });
  const versions = (stored: string) =>
    aDefinition(
      [oldForm, newForm].map(({name, schema}) => {
        const {properties} = (schema as {openAPIV3Schema: {properties: object}}).openAPIV3Schema;
        return aVersion({
          name: name!,
          storage: name === stored,
          schema: {openAPIV3Schema: {type: 'object', properties: {...properties, spec: spec(name!)}}},
        });
      }),
      {conversion: asking(hook)},
    );
  await env.define(versions('v1'));
  const made = (await env.post(second, later('a', 'x', '1'))).json<Widget & {odd?: number}>();
  t.deepEqual(made.spec, {size: 2}, 'what the stored version does not know is lost on the way');
  t.is(made.odd, undefined);
  t.deepEqual((await env.get(`${widgets}/a`)).json<Widget>().spec, {'by-v1': 'v1', size: 2});
});

test('discovery shows a hash of the stored version, which changes with it, and nothing while that is not served', async t => {
  using env = await startConverting();
  const hook = converter();
  const hashes = async () =>
    Promise.all(
      ['v1', 'v2'].map(
        async version =>
          (await env.get(`/apis/example.com/${version}`)).json<{resources?: {storageVersionHash?: string}[]}>().resources?.[0]
            ?.storageVersionHash,
      ),
    );
  await env.define(twoVersions(asking(hook)));
  const [old, same] = await hashes();
  t.truthy(old);
  t.is(old, same);
  await env.redefine(twoVersions(asking(hook), 'v2'));
  const [now] = await hashes();
  t.not(now, old);
  await env.redefine(twoVersions(asking(hook), 'v2', {v2: {served: false}}));
  t.like((await env.get('/apis/example.com/v1')).json<{resources: object[]}>().resources[0], {
    name: 'widgets',
    storageVersionHash: undefined,
  });
});

test('nulls that a webhook leaves behind go, and metadata of embedded objects has to be some', async t => {
  using env = await startConverting();
  const hook = converter((object, version) => ({
    ...(hostPort(object, version) as Widget),
    port: null,
    inner: {apiVersion: 'v1', kind: 'Pod', metadata: {odd: 1, labels: {a: 'b'}}},
  }));
  const inner = {type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true};
  const v2 = {schema: {openAPIV3Schema: {type: 'object', properties: {host: {type: 'string'}, port: {type: 'string'}, inner}}}};
  await env.define(twoVersions(asking(hook), 'v1', {v2}));
  await env.post(widgets, first('a', 'one:1'));
  const got = (await env.get(`${second}/a`)).json<Widget & {inner: object}>();
  t.false('port' in got);
  t.deepEqual(got.inner, {apiVersion: 'v1', kind: 'Pod', metadata: {labels: {a: 'b'}}});

  await env.post(widgets, first('b', 'one:1'));
  hook.convert = (object, version) => ({
    ...(hostPort(object, version) as Widget),
    inner: {apiVersion: 'v1', kind: 'Pod', metadata: 'none'},
  });
  const failed = await env.get(`${second}/b`);
  t.is(failed.status, 500);
  t.regex(failed.json<Status>().message!, /inner\.metadata/);
});

test('a write through a version that is not stored returns the object as later reads do', async t => {
  using env = await startConverting();
  const hook = converter((object, version) =>
    version.endsWith('v1') ? {...(hostPort(object, version) as Widget), hostPort: 'lost:0'} : hostPort(object, version),
  );
  await env.define(twoVersions(asking(hook)));
  using stream = await env.watch(`${second}?watch=1`);

  const made = (await env.post(second, later('a', 'x', '1'))).json<Widget>();
  t.like(made, {apiVersion: 'example.com/v2', host: 'lost', port: '0'});
  const changed = (await env.patch(`${second}/a`, {metadata: {labels: {a: 'b'}}})).json<Widget>();
  t.is(changed.host, 'lost');
  t.deepEqual((await env.get(`${second}/a`)).json<Widget>(), changed);
  await env.eventually(() => stream.events.length === 2);
  t.deepEqual(
    stream.events.map(({type}) => type),
    ['ADDED', 'MODIFIED'],
  );
});

const applied = {'content-type': 'application/apply-patch+yaml'};
type Entry = {manager: string; apiVersion: string; fieldsV1: Record<string, unknown>};
const entriesOf = (object: Widget) =>
  (object.metadata!.managedFields as unknown as Entry[]).map(({manager, apiVersion, fieldsV1}) => [
    manager,
    apiVersion,
    Object.keys(fieldsV1).join(),
  ]);

for (const [title, requested] of [
  ['by a webhook', true],
  ['by name alone', false],
] as const) {
  test(`managers keep their fields across versions, and lose those that others change, converted ${title}`, async t => {
    using env = await startConverting();
    const hook = converter();
    const joined = requested ? {hostPort: 'one:1'} : {spec: {size: 1}};
    const apart = requested ? {host: 'two', port: '2'} : {spec: {size: 2}};
    await env.define(twoVersions(requested ? asking(hook) : undefined));
    const apply = (url: string, manager: string, body: object, more = '') =>
      env.patch(`${url}/a?fieldManager=${manager}${more}`, body, {headers: applied});
    const widget = (version: string, more: object) => ({
      apiVersion: `example.com/${version}`,
      kind: 'Widget',
      metadata: {name: 'a'},
      ...more,
    });
    const owned = requested ? 'f:hostPort' : 'f:spec';

    t.is((await apply(widgets, 'one', widget('v1', joined))).status, 201);
    const labelled = await env.patch(`${second}/a?fieldManager=other`, {metadata: {labels: {a: 'b'}}});
    t.deepEqual(
      entriesOf(labelled.json()),
      [
        ['one', 'example.com/v1', owned],
        ['other', 'example.com/v2', 'f:metadata'],
      ],
      'a change of something else',
    );

    const conflict = await apply(second, 'two', widget('v2', apart));
    t.is(conflict.status, 409, conflict.text);
    t.regex(conflict.json<Status>().message!, /conflict with "one": \./);
    const forced = await apply(second, 'two', widget('v2', apart), '&force=true');
    t.is(forced.status, 200, forced.text);
    t.deepEqual(
      entriesOf(forced.json()),
      [
        ['two', 'example.com/v2', requested ? 'f:host,f:port' : 'f:spec'],
        ['other', 'example.com/v2', 'f:metadata'],
      ],
      'an apply by force',
    );

    const moved = await env.patch(`${widgets}/a?fieldManager=third`, requested ? {hostPort: 'three:2'} : {spec: {size: 3}});
    t.deepEqual(
      entriesOf(moved.json()),
      [
        ...(requested ? [['two', 'example.com/v2', 'f:port']] : []),
        ['other', 'example.com/v2', 'f:metadata'],
        ['third', 'example.com/v1', owned],
      ],
      'an update',
    );
  });
}

test('where a conversion fails, an apply fails, and an update clears the managed fields', async t => {
  using env = await startConverting();
  const hook = converter();
  await env.define(twoVersions(asking(hook)));
  await env.patch(`${second}/a?fieldManager=one`, later('a', 'one', '1'), {headers: applied});
  hook.answer = requested => reviewOf(requested, hostPort, {result: {status: 'Failure', message: 'no way'}});
  const apply = () => env.patch(`${widgets}/a?fieldManager=two&force=true`, first('a', 'three:3'), {headers: applied});
  const refused = await apply();
  t.is(refused.status, 500);
  t.regex(refused.json<Status>().message!, /failed: no way$/);
  const changed = await env.patch(`${widgets}/a?fieldManager=two`, {hostPort: 'two:2'});
  t.is(changed.status, 200, changed.text);
  t.is(changed.json().metadata?.managedFields, undefined);
  t.is((await apply()).status, 200, 'nothing is left to convert');
});

test('fields that are managed in a version that is gone let an apply fail, and an update clears them', async t => {
  using env = await startCustom();
  const [v1, v2] = ['v1', 'v2'].map(name => aVersion({name, storage: name === 'v2', spec: {properties: {size: {type: 'integer'}}}}));
  await env.define(aDefinition([v1!, v2!]));
  const apply = (version: string, name: string) =>
    env.patch(
      `${widgets.replace('/v1/', `/${version}/`)}/${name}?fieldManager=one&force=true`,
      {...aWidget(name, {size: 1}), apiVersion: `example.com/${version}`},
      {headers: applied},
    );
  for (const name of ['a', 'b']) t.is((await apply('v1', name)).status, 201);
  await env.redefine(aDefinition([v2!]));

  const refused = await apply('v2', 'a');
  t.is(refused.status, 500);
  t.is(refused.json<Status>().message, 'request to convert CR to an invalid group/version: example.com/v1');
  const unchanged = (await env.get(`${second}/a`)).json();
  const cleared = (await env.put(`${second}/a`, unchanged)).json();
  t.is(cleared.metadata?.managedFields, undefined);
  t.not(cleared.metadata?.resourceVersion, unchanged.metadata?.resourceVersion);
  const changed = (await env.patch(`${second}/b`, {spec: {size: 2}})).json();
  t.is(changed.metadata?.managedFields, undefined);
  t.is((await apply('v2', 'a')).status, 200);
});

test('the scale is read and set through a version that is not stored', async t => {
  using env = await startConverting();
  const hook = converter();
  const scale = {subresources: {scale: {specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas'}}};
  await env.define(twoVersions(asking(hook), 'v1', {v1: scale, v2: scale}));
  await env.post(widgets, first('a', 'one:1', {spec: {replicas: 1}}));
  t.is((await env.get(`${second}/a/scale`)).json<{spec: {replicas: number}}>().spec.replicas, 1);
  const set = await env.patch(`${second}/a/scale`, {spec: {replicas: 4}});
  t.is(set.status, 200, set.text);
  t.like((await env.get(`${widgets}/a`)).json<Widget>(), {hostPort: 'one:1', spec: {replicas: 4}});
});

test('metrics record the duration of conversions, by version', async t => {
  using env = await startConverting();
  const hook = converter();
  await env.define(twoVersions(asking(hook)));
  await env.post(widgets, first('a', 'one:1'));
  await env.get(`${second}/a`);
  t.deepEqual(await env.metricLines('apiserver_crd_conversion_webhook_duration_seconds_count'), [
    'apiserver_crd_conversion_webhook_duration_seconds_count{crd_name="widgets.example.com",from_version="v1",to_version="v2",succeeded="true"} 1',
  ]);
  t.deepEqual(await env.metricLines('apiserver_conversion_webhook_duration_seconds_count'), [
    'apiserver_conversion_webhook_duration_seconds_count{result="success",failure_type=""} 1',
  ]);
});
