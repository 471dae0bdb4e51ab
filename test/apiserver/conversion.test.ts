import test from 'ava';
import type {Status} from '#src/api/status.js';
import {noMeter} from '#src/base/meter.js';
import {seededRandom} from '#src/base/random.js';
import {conversionMetrics} from '#src/apiserver/custom/conversion-metrics.js';
import {translationOf} from '#src/apiserver/custom/records.js';
import {translatedStore} from '#src/apiserver/custom/translated-store.js';
import {webhookConversion} from '#src/apiserver/custom/webhook-conversion.js';
import type {Definition} from '#src/resources/apiextensions/types.js';
import {customFamily} from '#src/resources/custom/family.js';
import type {Change, Store, Watcher} from '#src/storage/store.js';
import {
  first,
  hostPort,
  later,
  newForm,
  oldForm,
  reviewOf,
  second,
  startConverters,
  startConverting,
  twoVersions,
  type ConversionRequest,
  type Converter,
  type Widget,
} from './converting.js';
import {aDefinition, aVersion, definitions, widgets} from './custom.js';
import {words} from './wire.js';

const {webhook, converter, asking} = await startConverters();
test.after.always(() => webhook.close());

const namesIn = (answer: {json<T>(): T}) =>
  answer
    .json<{items: Widget[]}>()
    .items.map(({apiVersion, metadata, hostPort: joined, host, port}) => [apiVersion, metadata!.name, joined ?? `${host} ${port}`]);

test('a webhook converts to a version that is not stored, and returns one object', async t => {
  using env = await startConverting();
  const hook = converter();
  await env.define(twoVersions(asking(hook)));
  const made = await env.post(widgets, first('a', 'localhost:8080'));
  t.is(made.status, 201, made.text);
  t.deepEqual(hook.requested, []);

  const got = (await env.get(`${second}/a`)).json<Widget>();
  t.like(got, {apiVersion: 'example.com/v2', kind: 'Widget', host: 'localhost', port: '8080'});
  t.deepEqual(got.metadata, {...made.json().metadata});
  const [{request, ...review}] = hook.requested as [ConversionRequest];
  t.deepEqual(review as object, {
    kind: 'ConversionReview',
    apiVersion: 'apiextensions.plat.io/v1',
    response: {uid: '', convertedObjects: null, result: {metadata: {}}},
  });
  t.is(request.desiredAPIVersion, 'example.com/v2');
  const {resourceVersion: _, ...metadata} = made.json().metadata!;
  t.deepEqual(
    request.objects,
    [{kind: 'Widget', apiVersion: 'example.com/v1', metadata, hostPort: 'localhost:8080'}],
    'as it lies in the store',
  );
});

test('lists show objects of whatever version they are stored in, with one call a page and none for those that are in the version', async t => {
  using env = await startConverting();
  const hook = converter();
  await env.define(twoVersions(asking(hook)));
  await env.post(widgets, first('a', 'one:1'));
  await env.post(widgets, first('b', 'two:2'));
  await env.redefine(twoVersions(asking(hook), 'v2'));
  await env.post(second, later('c', 'three', '3'));
  t.is(hook.requested.length, 0);

  t.deepEqual(namesIn(await env.get(second)), [
    ['example.com/v2', 'a', 'one 1'],
    ['example.com/v2', 'b', 'two 2'],
    ['example.com/v2', 'c', 'three 3'],
  ]);
  t.deepEqual(
    hook.requested.map(({request}) => request.objects.map(({metadata}) => metadata!.name)),
    [['a', 'b']],
  );
  t.deepEqual(namesIn(await env.get(widgets)), [
    ['example.com/v1', 'a', 'one:1'],
    ['example.com/v1', 'b', 'two:2'],
    ['example.com/v1', 'c', 'three:3'],
  ]);
  t.deepEqual(
    hook.requested.slice(1).map(({request}) => request.objects.map(({metadata}) => metadata!.name)),
    [['c']],
  );
});

test('many objects of an old version are converted page by page', async t => {
  using env = await startConverting();
  const hook = converter();
  await env.define(twoVersions(asking(hook)));
  const {store} = env;
  await env.post(widgets, first('a', 'one:1'));
  const {value} = (await store.get('/registry/example.com/widgets/default/a'))!;
  for (let i = 0; i < 2_000; i++) await store.create(`/registry/example.com/widgets/default/w${i}`, value);

  const page = await env.get(`${second}?limit=500`);
  t.is(page.json<{items: object[]}>().items.length, 500);
  t.is(hook.requested.length, 1);
  const all = (await env.get(second)).json<{items: Widget[]}>().items;
  t.is(all.length, 2_001);
  t.true(all.every(({host}) => host === 'one'));
  t.true(hook.requested.every(({request}) => request.objects.length <= 500));
});

const answers: readonly [title: string, answer: (requested: ConversionRequest) => unknown, message: string, fault: string][] = [
  [
    'reports a failure',
    requested => reviewOf(requested, hostPort, {result: {status: 'Failure', message: 'no way'}}),
    'failed: no way',
    'malformed_response',
  ],
  [
    'fails without a message',
    requested => reviewOf(requested, hostPort, {result: {}}),
    "failed: response.result.status was '', not 'Success'",
    'malformed_response',
  ],
  [
    'answers something else',
    requested => reviewOf(requested, hostPort, {uid: 'other'}),
    'failed: expected response.uid="UID", got "other"',
    'malformed_response',
  ],
  ['answers nothing', ({kind, apiVersion}) => ({kind, apiVersion}), 'failed: no response provided', 'malformed_response'],
  [
    'answers with another kind',
    () => ({kind: 'Nonsense', apiVersion: 'example.com/v1'}),
    'failed: no kind "Nonsense" is registered for version "example.com/v1" in scheme "plat.io/apiserver/pkg/util/webhook/client.go:71"',
    'call',
  ],
  [
    'leaves out the kind of the review',
    requested => ({...reviewOf(requested, hostPort), kind: ''}),
    'failed: expected webhook response of apiextensions.plat.io/v1, Kind=ConversionReview, got apiextensions.plat.io/v1, Kind=',
    'malformed_response',
  ],
  [
    'leaves objects out',
    requested => reviewOf(requested, hostPort, {convertedObjects: []}),
    'returned 0 objects, expected 1',
    'partial_response',
  ],
  [
    'answers with no object',
    requested => reviewOf(requested, () => ({})),
    "returned invalid object at index 0: Object 'Kind' is missing in '{}'",
    'invalid_converted_object',
  ],
  [
    'does not convert',
    requested => reviewOf(requested, object => object),
    'returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v1)',
    'invalid_converted_object',
  ],
  [
    'changes the kind',
    requested => reviewOf(requested, (object, version) => ({...(hostPort(object, version) as Widget), kind: 'Gadget'})),
    'returned invalid object at index 0: invalid kind (expected Widget, received Gadget)',
    'invalid_converted_object',
  ],
  ...(
    [
      ['name', {name: 'b'}, 'must have the same name: a != b'],
      ['namespace', {namespace: 'other'}, 'must have the same namespace: default != other'],
      ['uid', {uid: 'u'}, 'must have the same UID: UID != u'],
    ] as const
  ).map(([what, change, text]): (typeof answers)[number] => [
    `changes the ${what}`,
    requested => reviewOf(requested, changing(change)),
    `returned invalid object: ${text}`,
    'invalid_converted_object',
  ]),
  ...(
    [
      ['labels that are no map', {labels: 'x'}, 'invalid metadata.labels of type string in converted object'],
      ['a label that is no text', {labels: {a: 1}}, 'metadata.labels[a] must be a string, but is int64 in converted object'],
      [
        'an annotation that is no text',
        {annotations: {a: {}}},
        'metadata.annotations[a] must be a string, but is map[string]interface {} in converted object',
      ],
      [
        'a label that cannot be',
        {labels: {a: '!'}},
        `metadata.labels: Invalid value: "!": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
      ],
    ] as const
  ).map(([what, change, text]): (typeof answers)[number] => [
    `makes ${what}`,
    requested => reviewOf(requested, changing(change)),
    `returned invalid metadata: ${text}`,
    'invalid_converted_object',
  ]),
];

/** Converts and changes the metadata. */
const changing = (change: object) => (object: Widget, version: string) => ({
  ...(hostPort(object, version) as Widget),
  metadata: {...object.metadata, ...change},
});

for (const [title, answer, text, fault] of answers) {
  test(`an object cannot be shown by a webhook that ${title}`, async t => {
    using env = await startConverting();
    const hook = converter();
    await env.define(twoVersions(asking(hook)));
    const {metadata} = (await env.post(widgets, first('a', 'localhost:8080'))).json();
    hook.answer = answer;

    const got = await env.get(`${second}/a`);
    t.is(got.status, 500);
    const [{request}] = hook.requested as [ConversionRequest];
    const message = text.replace('"UID"', `"${request.uid}"`).replace('UID !=', `${metadata!.uid} !=`);
    t.deepEqual(got.json<Status>(), {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: `conversion webhook for example.com/v1, Kind=Widget ${message}`,
      code: 500,
    });
    t.deepEqual(await env.metricLines('apiserver_conversion_webhook_request_total'), [
      `apiserver_conversion_webhook_request_total{result="failure",failure_type="conversion_webhook_${fault}_failure"} 1`,
    ]);
  });
}

test('a conversion webhook that cannot be reached is reported with its address and timeout', async t => {
  using env = await startConverting();
  const hook = converter();
  await env.define(twoVersions(asking(hook)));
  await env.post(widgets, first('a', 'one:1'));
  await env.redefine(
    twoVersions({
      strategy: 'Webhook',
      webhook: {
        conversionReviewVersions: ['v1'],
        clientConfig: {service: {namespace: 'default', name: 'svc', path: '/convert'}, url: null, caBundle: null},
      },
    }),
  );
  t.is(
    (await env.get(`${second}/a`)).json<Status>().message,
    'conversion webhook for example.com/v1, Kind=Widget failed: Post "https://svc.default.svc:443/convert?timeout=30s": services "svc" not found',
  );
  t.deepEqual(await env.metricLines('apiserver_conversion_webhook_request_total'), [
    'apiserver_conversion_webhook_request_total{result="failure",failure_type="conversion_webhook_call_failure"} 1',
  ]);
});

test('of metadata a webhook changes labels and annotations only', async t => {
  using env = await startConverting();
  const hook = converter((object, version) => ({
    ...(hostPort(object, version) as Widget),
    metadata: {
      name: object.metadata!.name,
      namespace: 'default',
      uid: object.metadata!.uid,
      labels: {now: 'new'},
      finalizers: ['x/y'],
      generation: 9,
      creationTimestamp: null,
    },
  }));
  await env.define(twoVersions(asking(hook)));
  const {metadata} = (
    await env.post(widgets, {...first('a', 'localhost:1'), metadata: {name: 'a', labels: {old: 'label'}, annotations: {old: 'note'}}})
  ).json();
  const {annotations: _, ...rest} = metadata!;
  t.deepEqual((await env.get(`${second}/a`)).json().metadata, {...rest, labels: {now: 'new'}});
});

test('where a webhook fails, nothing is written, changed or deleted in its version, and all goes on in the one that is stored', async t => {
  using env = await startConverting();
  const hook = converter();
  await env.define(twoVersions(asking(hook)));
  const made = (await env.post(widgets, first('a', 'localhost:8080'))).json();
  hook.answer = requested => reviewOf(requested, hostPort, {result: {status: 'Failure', message: 'no way'}});
  const failed = (kind: string) => ({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: `conversion webhook for ${kind}, Kind=Widget failed: no way`,
    code: 500,
  });

  const merge = {headers: {'content-type': 'application/merge-patch+json'}};
  t.deepEqual((await env.get(second)).json<object>(), failed('example.com/v1'), 'lists');
  t.deepEqual((await env.post(second, later('b', 'x', '1'))).json<object>(), failed('example.com/v2'), 'POST');
  t.deepEqual(
    (await env.put(`${second}/a`, {...later('a', 'x', '1'), metadata: made.metadata})).json<object>(),
    failed('example.com/v1'),
    'PUT',
  );
  t.deepEqual((await env.patch(`${second}/a`, {host: 'x'}, merge)).json<object>(), failed('example.com/v1'), 'PATCH');
  t.deepEqual(
    (
      await env.patch(`${second}/a?fieldManager=m`, later('a', 'x', '1'), {headers: {'content-type': 'application/apply-patch+yaml'}})
    ).json<object>(),
    failed('example.com/v1'),
    'apply',
  );
  t.deepEqual((await env.remove(`${second}/a`)).json<object>(), failed('example.com/v1'), 'DELETE');
  t.is((await env.get(`${widgets}/b`)).status, 404);
  t.is((await env.remove(`${widgets}/a`)).status, 200);
});

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
    translationOf(family, family.versions[1]!, webhookConversion(definition, parts)),
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

test('conversion reviews use the first version that webhook and server support, and v1beta1 is read leniently', async t => {
  using env = await startConverting();
  const hook = converter();
  await env.define(twoVersions(asking(hook, ['v9', 'v1beta1', 'v1'])));
  await env.post(widgets, first('a', 'one:1'));
  hook.answer = requested => ({...reviewOf(requested, hostPort, {uid: 'other'}), kind: undefined, apiVersion: undefined});
  t.is((await env.get(`${second}/a`)).status, 200);
  t.is(hook.requested[0]!.apiVersion, 'apiextensions.plat.io/v1beta1');
});

test('objects of the old stored version are read, and written anew by a change that changes nothing', async t => {
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

test('a version that is no longer served is still read from the store, and one that is gone is refused in words', async t => {
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

test('where a conversion fails, an update leaves managed fields alone, and an apply fails', async t => {
  using env = await startConverting();
  const hook = converter();
  await env.define(twoVersions(asking(hook)));
  await env.patch(`${second}/a?fieldManager=one`, later('a', 'one', '1'), {headers: applied});
  hook.answer = requested => reviewOf(requested, hostPort, {result: {status: 'Failure', message: 'no way'}});
  const changed = await env.patch(`${widgets}/a?fieldManager=two`, {hostPort: 'two:2'});
  t.is(changed.status, 200, changed.text);
  t.deepEqual(entriesOf(changed.json()), [['one', 'example.com/v2', 'f:host,f:port']]);
  const refused = await env.patch(`${widgets}/a?fieldManager=two&force=true`, first('a', 'three:3'), {headers: applied});
  t.is(refused.status, 500);
  t.regex(refused.json<Status>().message!, /failed: no way$/);
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
