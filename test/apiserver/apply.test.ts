import test from 'ava';
import type {Status} from '#src/api/status.js';
import {aConfigMap, configMaps, settled, startWire, type Received} from './wire.js';
import {dataOf, entriesOf, ownersOf, seconds, startApply, url} from './applying.js';

test('an intent makes the object that is missing, and its manager owns it', async t => {
  const {apply, get} = await startApply();
  const made = await apply(url, aConfigMap('a', {data: {k: 'v'}}));

  t.is(made.status, 201);
  t.deepEqual(entriesOf(made.json()), [
    {
      manager: 'me',
      operation: 'Apply',
      apiVersion: 'v1',
      time: '2026-01-01T00:00:00Z',
      fieldsType: 'FieldsV1',
      fieldsV1: {'f:data': {'f:k': {}}},
    },
  ]);
  t.deepEqual((await get(url)).json(), made.json());
});

test('the first apply to an existing object records its earlier fields without a time', async t => {
  const {apply, pass} = await startApply();
  await apply(url, aConfigMap('a', {data: {k: 'v', l: 'w'}}));
  await pass(5 * seconds);
  const timesOf = (received: Received) => entriesOf(received.json()).map(({manager, time}) => [manager, time]);

  t.deepEqual(timesOf(await apply(url, aConfigMap('a', {data: {k: 'v'}}), 'fieldManager=other')), [
    ['other', undefined],
    ['me', '2026-01-01T00:00:00Z'],
  ]);
  t.deepEqual(timesOf(await apply(url, aConfigMap('a', {data: {k: 'v', m: 'x'}}), 'fieldManager=other')), [
    ['me', '2026-01-01T00:00:00Z'],
    ['other', '2026-01-01T00:00:05Z'],
  ]);
});

test('an intent is read as YAML', async t => {
  const {apply} = await startApply();
  const made = await apply(url, 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: "1"\n');

  t.deepEqual(dataOf(made), {k: '1'});
});

test('applying the same again writes nothing', async t => {
  const {apply, watch, pass, clock} = await startApply();
  const made = (await apply(url, aConfigMap('a', {data: {k: 'v'}, binaryData: {}}))).json();
  using stream = await watch(`${configMaps}?watch=1&resourceVersion=${made.metadata?.resourceVersion}`);
  await pass(10 * seconds);
  const again = await apply(url, aConfigMap('a', {data: {k: 'v'}, binaryData: {}}));
  await settled(clock);

  t.is(again.status, 200);
  t.deepEqual(again.json(), made);
  t.deepEqual(stream.summaries, []);
});

test('fields removed from an intent are removed from the object, and fields of other managers stay', async t => {
  const {apply, patch} = await startApply();
  await apply(url, aConfigMap('a', {data: {a: '1', b: '1', c: '1'}}));
  await apply(url, aConfigMap('a', {data: {b: '1'}}), 'fieldManager=other');
  await patch(`${url}?fieldManager=writer`, {data: {c: '2', d: '1'}});
  const left = await apply(url, aConfigMap('a'));

  t.deepEqual(dataOf(left), {b: '1', c: '2', d: '1'});
  t.deepEqual(ownersOf(left.json()), ['other Apply', 'writer Update']);
});

test('fields of others are a conflict that names them, until it is forced', async t => {
  const {apply, put} = await startApply();
  await apply(url, aConfigMap('a', {data: {a: '1', b: '1'}}), 'fieldManager=one');
  const {metadata} = (await apply(url, aConfigMap('a', {data: {a: '1', c: '1'}}), 'fieldManager=two')).json();
  await put(`${url}?fieldManager=three`, {...aConfigMap('a', {data: {a: '1', b: '2', c: '1'}}), metadata});
  const refused = await apply(url, aConfigMap('a', {data: {a: '2', b: '3'}}));

  t.is(refused.status, 409);
  t.deepEqual(refused.json<Status>(), {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message:
      'Apply failed with 3 conflicts: conflicts with "one":\n- .data.a\nconflicts with "three" using v1:\n- .data.b\nconflicts with "two":\n- .data.a',
    reason: 'Conflict',
    details: {
      causes: [
        {reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.data.a'},
        {reason: 'FieldManagerConflict', message: 'conflict with "three" using v1', field: '.data.b'},
        {reason: 'FieldManagerConflict', message: 'conflict with "two"', field: '.data.a'},
      ],
    },
    code: 409,
  });
  const forced = await apply(url, aConfigMap('a', {data: {a: '2', b: '3'}}), 'fieldManager=me&force=true');
  t.deepEqual(dataOf(forced), {a: '2', b: '3', c: '1'});
  t.deepEqual(ownersOf(forced.json()), ['me Apply', 'two Apply']);
});

const refusals: readonly [title: string, intent: unknown, query: string, code: number, message: string | RegExp][] = [
  [
    'without a manager',
    aConfigMap('a'),
    '',
    422,
    'PatchOptions.meta.plat.io "" is invalid: fieldManager: Required value: is required for apply patch',
  ],
  ['of another kind', {...aConfigMap('a'), kind: 'Secret'}, 'fieldManager=me', 400, 'invalid object type: /v1, Kind=Secret'],
  ['of another version', {...aConfigMap('a'), apiVersion: 'v2'}, 'fieldManager=me', 400, 'invalid object type: /v2, Kind=ConfigMap'],
  [
    'with managed fields',
    aConfigMap('a', {metadata: {name: 'a', managedFields: []}}),
    'fieldManager=me',
    400,
    'metadata.managedFields must be nil',
  ],
  [
    'with an unknown field',
    aConfigMap('a', {metadata: {name: 'a', namespace: 'default'}, unknown: 1}),
    'fieldManager=me',
    500,
    'failed to create typed patch object (default/a; /v1, Kind=ConfigMap): .unknown: field not declared in schema',
  ],
  [
    'with a value of the wrong type',
    aConfigMap('a', {data: {a: 1}}),
    'fieldManager=me',
    500,
    'failed to create typed patch object (/a; /v1, Kind=ConfigMap): .data.a: expected string, got &value.valueUnstructured{Value:1}',
  ],
  ['of another name', aConfigMap('b'), 'fieldManager=me', 400, 'the name of the object (b) does not match the name on the URL (a)'],
  [
    'with the uid of an object that is not there',
    aConfigMap('a', {metadata: {name: 'a', uid: 'u'}}),
    'fieldManager=me',
    409,
    /uid mismatch: the provided object specified uid u, and no existing object was found/,
  ],
  ['that is no YAML', '{', 'fieldManager=me', 400, /^error decoding YAML: /],
  [
    'with a key twice, when asked to be strict',
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: "1", a: "2"}\n',
    'fieldManager=me&fieldValidation=Strict',
    400,
    /key "a" already set in map/,
  ],
];

for (const [value, replicas] of [
  ['4294967297', 1],
  ['3000000000', 'Invalid value: -1294967296: must be greater than or equal to 0'],
  ['1e10', 1410065408],
  ['99999999999999999999', 0],
  ['1.5', 'cannot convert float64 to int32'],
] as const) {
  test(`${value} as a number of 32 bits is ${replicas} in an apply and in a strategic patch`, async t => {
    const {apply, patch} = await startApply();
    const deployment = '/apis/apps/v1/namespaces/default/deployments/d';
    const intent = (count: string) =>
      `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":${count},"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`;
    const outcome = ({text}: Received) => {
      const {spec, message} = JSON.parse(text) as {spec?: {replicas: number}; message?: string};
      return spec?.replicas ?? message!;
    };
    const outcomes = [outcome(await apply(deployment, intent(value)))];
    await apply(deployment, intent('1'));
    const headers = {'content-type': 'application/strategic-merge-patch+json'};
    outcomes.push(outcome(await patch(deployment, `{"spec":{"replicas":${value}}}`, {headers})));

    if (typeof replicas === 'number') t.deepEqual(outcomes, [replicas, replicas]);
    else for (const message of outcomes) t.true(String(message).endsWith(replicas), String(message));
  });
}

test('the uid of an applied object is a change that is refused, after conflicts', async t => {
  const {apply} = await startApply();
  await apply(url, aConfigMap('a', {data: {k: 'v'}}));
  const withUid = (data: object) => aConfigMap('a', {metadata: {name: 'a', uid: 'u'}, data});

  t.like((await apply(url, withUid({k: 'v'}))).json<Status>(), {
    code: 422,
    message: 'ConfigMap "a" is invalid: metadata.uid: Invalid value: "u": field is immutable',
  });
  t.is((await apply(url, withUid({k: 'w'}), 'fieldManager=other')).json<Status>().code, 409);
});

for (const [title, intent, query, code, message] of refusals) {
  test(`an intent ${title} is refused`, async t => {
    const {apply, get} = await startApply();
    const refused = (await apply(url, intent, query)).json<Status>();

    t.is(refused.code, code);
    if (typeof message === 'string') t.is(refused.message, message);
    else t.regex(refused.message ?? '', message);
    t.is((await get(url)).status, 404);
  });
}

test('a key that is there twice is warned of', async t => {
  const {apply} = await startApply();
  const made = await apply(url, 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: "1", a: "2"}\n');

  t.is(made.status, 201);
  t.regex(String(made.header('warning')), /key \\"a\\" already set in map/);
});

test('an apply may require a resource version', async t => {
  const {apply} = await startApply();
  const made = (await apply(url, aConfigMap('a', {data: {k: '1'}}))).json();
  const stale = await apply(url, aConfigMap('a', {metadata: {name: 'a', resourceVersion: '1'}, data: {k: '2'}}));
  const fresh = await apply(url, aConfigMap('a', {metadata: {name: 'a', resourceVersion: made.metadata?.resourceVersion}, data: {k: '2'}}));

  t.deepEqual([stale.status, fresh.status], [409, 200]);
});

test('a dry run returns the result of an apply', async t => {
  const {apply, get} = await startApply();
  const would = await apply(url, aConfigMap('a', {data: {k: 'v'}}), 'fieldManager=me&dryRun=All');

  t.is(would.status, 201);
  t.deepEqual(ownersOf(would.json()), ['me Apply']);
  t.is((await get(url)).status, 404);
});

test('applying a missing object needs the create permission', async t => {
  const verbs: string[] = [];
  const env = await startWire({
    authorizer: {
      authorize: ({verb}) => {
        verbs.push(verb);
        return {decision: verb === 'create' && verbs.includes('patch') ? 'deny' : 'allow'};
      },
    },
  });
  const refused = await env.patch(`${url}?fieldManager=me`, aConfigMap('a'), {headers: {'content-type': 'application/apply-patch+yaml'}});

  t.is(refused.status, 403);
  t.deepEqual(verbs.slice(-2), ['patch', 'create']);
});

test('applies that meet all arrive', async t => {
  const {apply, get} = await startApply();
  const managers = Array.from({length: 8}, (_, index) => `m${index}`);
  const answers = await Promise.all(
    managers.map(manager => apply(url, aConfigMap('a', {data: {[manager]: '1'}}), `fieldManager=${manager}`)),
  );

  t.deepEqual(answers.map(({status}) => status).sort(), [...managers.slice(1).map(() => 200), 201]);
  t.deepEqual(Object.keys(dataOf(await get(url)) as object).sort(), managers);
});
