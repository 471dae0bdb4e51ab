import test from 'ava';
import type {Status} from '#src/api/status.js';
import {noMeter} from '#src/base/meter.js';
import {seededRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {conversionMetrics} from '#src/apiserver/custom/conversion-metrics.js';
import {webhookConversion} from '#src/apiserver/custom/webhook-conversion.js';
import type {Definition} from '#src/resources/apiextensions/types.js';
import {first, hostPort, later, reviewOf, second, startConverting, twoVersions, type ConversionRequest, type Widget} from './converting.js';
import {widgets} from './custom.js';
import {asking, converter, webhook} from './conversion-stage.js';
import {words} from './wire.js';

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
    'answers with a number beyond the range of doubles',
    requested => JSON.stringify(reviewOf(requested, hostPort)).replace('"port":"8080"', '"port":1e400'),
    'returned invalid object at index 0: json: cannot unmarshal number 1e+309 into Go value of type float64',
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

test('the objects of one call to a conversion webhook are limited by size', async t => {
  using env = await startConverting();
  const hook = converter();
  const clock = new VirtualClock();
  const {convert} = webhookConversion(twoVersions(asking(hook)) as unknown as Definition, {
    naming: words,
    clock,
    random: seededRandom(1),
    caller: env.caller,
    metrics: conversionMetrics(noMeter, clock),
  });
  const objects = ['a', 'b', 'c', 'd', 'e'].map(name => first(name, 'x'.repeat(2_500_000)));

  t.is((await convert(objects, 'example.com/v2')).length, 5);
  t.deepEqual(
    hook.requested.map(({request}) => request.objects.length),
    [3, 2],
  );
});

test('a conversion webhook whose response has too many bytes or values has failed, and no error shows a whole large object', async t => {
  using env = await startConverting();
  const hook = converter();
  await env.define(twoVersions(asking(hook)));
  await env.post(widgets, first('a', 'one:1'));
  const messageFor = async (more: object): Promise<string> => {
    hook.answer = requested => reviewOf(requested, object => ({...(hostPort(object, 'example.com/v2') as Widget), ...more}));
    return (await env.get(`${second}/a`)).json<Status>().message ?? '';
  };
  const failed = 'conversion webhook for example.com/v1, Kind=Widget failed: the response has more than';

  t.is(await messageFor({spec: {text: 'x'.repeat(17 << 20)}}), `${failed} ${16 << 20} bytes`);
  t.is(await messageFor({spec: {list: Array.from({length: 1_100_000}, () => 0)}}), `${failed} 1000000 values`);
  t.regex(await messageFor({kind: '', spec: {text: 'x'.repeat(2 << 20)}}), /Object 'Kind' is missing in '...'$/);
});
