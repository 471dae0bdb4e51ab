import test from 'ava';
import {naming} from '#src/api/naming.js';
import type {Status} from '#src/api/status.js';
import {seededRandom, type Random} from '#src/base/random.js';
import {samples} from './samples.js';
import {aConfigMap, configMaps, csrs, startWire} from './wire.js';
import {now} from './object-writes.js';

test('fields of the server are filled in, whatever the client sends', async t => {
  const {post} = await startWire();
  const {json, status} = await post(configMaps, {
    metadata: {
      name: 'a',
      uid: 'mine',
      creationTimestamp: '1999-01-01T00:00:00Z',
      deletionTimestamp: '1999-01-01T00:00:00Z',
      deletionGracePeriodSeconds: 5,
      generation: 7,
      selfLink: '/a',
      generateName: 'kept-',
    },
  });
  const {metadata = {}, kind, apiVersion} = json();

  t.is(status, 201);
  t.deepEqual([kind, apiVersion], ['ConfigMap', 'v1']);
  t.regex(metadata.uid ?? '', /^[0-9a-f-]{36}$/);
  t.deepEqual(Object.keys(metadata).sort(), [
    'creationTimestamp',
    'generateName',
    'generation',
    'managedFields',
    'name',
    'namespace',
    'resourceVersion',
    'uid',
  ]);
  // A kind without generations keeps the value it is sent.
  t.like(metadata, {name: 'a', namespace: 'default', creationTimestamp: now, generateName: 'kept-', generation: 7});
});

test('a creation may set an empty resource version, and fields that only the server sets have no owner', async t => {
  const {post, patch, get} = await startWire();
  t.is(
    (
      await post(configMaps, {
        metadata: {name: 'a', resourceVersion: '0', deletionTimestamp: '1999-01-01T00:00:00Z', deletionGracePeriodSeconds: 5},
      })
    ).status,
    201,
  );
  const changed = (await patch(`${configMaps}/a`, {metadata: {generation: 7}})).json();

  t.deepEqual([changed.metadata?.managedFields, changed.metadata?.deletionTimestamp], [undefined, undefined]);
  t.deepEqual((await get(`${configMaps}/a`)).json(), changed);
});

test('a patch is looked for an object before it is read, and is something', async t => {
  const {post, patch} = await startWire();
  await post(configMaps, {metadata: {name: 'a'}});
  const operations = {headers: {'content-type': 'application/json-patch+json'}};

  t.is((await patch(`${configMaps}/none`, {}, operations)).json<Status>().message, 'configmaps "none" not found');
  t.like((await patch(`${configMaps}/a`, {}, operations)).json<Status>(), {
    code: 400,
    message: 'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
  });
  t.like((await patch(`${configMaps}/a`, 'null')).json<Status>(), {code: 400, message: 'Invalid JSON Patch'});
  t.is(
    (await patch(`${configMaps}/a`, {more: 1, extra: 2})).header('warning')?.toString(),
    '299 - "unknown field \\"extra\\"",299 - "unknown field \\"more\\""',
  );
});

test('a generated name is the prefix, cut where it must be, and five characters', async t => {
  const {post} = await startWire();
  const short = await post(configMaps, {metadata: {generateName: 'a-'}});
  const long = await post(csrs, {metadata: {generateName: 'x'.repeat(80)}, ...samples(naming('plat'))['CertificateSigningRequest']});

  t.regex(short.json().metadata?.name ?? '', /^a-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  t.regex(long.json().metadata?.name ?? '', /^x{58}[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  t.is(short.json().metadata?.generateName, 'a-');
});

test('generating a name is tried eight times, and then the client is asked to retry', async t => {
  let tries = 0;
  const seeded = seededRandom(1);
  const stuck: Random = {...seeded, float: () => 0, uuid: () => (tries++, seeded.uuid())};
  const {post} = await startWire({random: stuck});
  await post(configMaps, aConfigMap('a-bbbbb'));
  tries = 0;
  const refused = await post(configMaps, {metadata: {generateName: 'a-'}});

  t.is(tries - 1, 8, 'one uuid a try, and one for the audit id');
  t.is(refused.header('retry-after'), '1');
  t.like(refused.json<Status>(), {
    code: 409,
    reason: 'AlreadyExists',
    message: 'configmaps "a-bbbbb" already exists, the server was not able to generate a unique name for the object',
    details: {name: 'a-bbbbb', kind: 'configmaps', retryAfterSeconds: 1},
  });
});

test('a name taken by one that is being deleted is refused in other words', async t => {
  const {post, remove} = await startWire();
  await post(configMaps, aConfigMap('a'));
  await post(configMaps, {metadata: {name: 'b', finalizers: ['x.io/y']}});
  await remove(`${configMaps}/b`);

  t.is((await post(configMaps, aConfigMap('a'))).json<Status>().message, 'configmaps "a" already exists');
  t.like((await post(configMaps, aConfigMap('b'))).json<Status>(), {
    reason: 'AlreadyExists',
    message: 'object is being deleted: configmaps "b" already exists',
    details: {name: 'b', kind: 'configmaps'},
  });
  t.is((await post(`${configMaps}?dryRun=All`, aConfigMap('a'))).status, 409);
});

test('the namespace of a body must be that of the path, and is dropped where the kind has none', async t => {
  const {post, put} = await startWire();
  const other = await post(configMaps, {metadata: {name: 'a', namespace: 'other'}});
  const node = await post('/api/v1/nodes', {metadata: {name: 'n', namespace: 'other'}});

  t.like(other.json<Status>(), {
    code: 400,
    reason: 'BadRequest',
    message: 'the namespace of the provided object does not match the namespace sent on the request',
  });
  t.is(node.status, 201);
  t.is(node.json().metadata?.namespace, undefined);
  t.is((await put('/api/v1/nodes/n', {metadata: {name: 'n', namespace: 'other'}})).status, 200);
});

for (const [title, body, message] of [
  [
    'nothing',
    '',
    "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)",
  ],
  [
    'half an object',
    '{"kind":"ConfigMap","apiVersion":"v1"',
    '(must be of type ConfigMap): couldn\'t get version/kind; json parse error: unexpected end of JSON input ({"kind":"ConfigMap","apiVersio ...)',
  ],
  ['text', 'hello', '(68656c6c6f)'],
  ['a list', '[]', '(5b5d)'],
  ['another kind', {kind: 'Secret', apiVersion: 'v1'}, 'Secret in version "v1" cannot be handled as a ConfigMap: '],
  [
    'an unknown kind',
    {kind: 'Thing', apiVersion: 'example.com/v3'},
    'Thing in version "v3" cannot be handled as a ConfigMap: no kind "Thing" is registered for version "example.com/v3" in scheme ',
  ],
  [
    'a List of objects',
    {kind: 'List', apiVersion: 'v1', items: []},
    'List in version "v1" cannot be handled as a ConfigMap: converting (v1.List) to (core.ConfigMap): unknown conversion',
  ],
  [
    'another version',
    {kind: 'ConfigMap', apiVersion: 'v2'},
    'ConfigMap in version "v2" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "v2" in scheme "pkg/api/legacyscheme/scheme.go:30"',
  ],
  [
    'a field of the wrong type',
    {data: {a: 1}, metadata: {name: 'a'}},
    'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string',
  ],
] as const) {
  test(`${title} is no object to create`, async t => {
    const {post} = await startWire();
    const answer = (await post(configMaps, body)).json<Status>();

    t.deepEqual([answer.code, answer.reason], [400, 'BadRequest']);
    t.true(answer.message?.includes(message), answer.message);
  });
}

test('a version on creation is an error without a reason', async t => {
  const {post} = await startWire();
  const answer = (await post(configMaps, {metadata: {name: 'a', resourceVersion: '7'}})).json<Status>();

  t.deepEqual([answer.code, answer.reason, answer.message], [500, undefined, 'resourceVersion should not be set on objects to be created']);
});

test('the kind comes from the body, or else from the path', async t => {
  const {post} = await startWire();

  t.is((await post(configMaps, {metadata: {name: 'a'}})).status, 201);
  t.is((await post(configMaps, {kind: 'ConfigMap', metadata: {name: 'b'}})).status, 201);
  t.is((await post(configMaps, {apiVersion: 'v1', metadata: {name: 'c'}})).status, 201);
});

for (const [query, kind, causes] of [
  ['dryRun=x', 'CreateOptions', [['FieldValueNotSupported', 'dryRun', 'Unsupported value: ["x"]: supported values: "All"']]],
  ['dryRun=', 'CreateOptions', [['FieldValueNotSupported', 'dryRun', 'Unsupported value: [""]: supported values: "All"']]],
  [`fieldManager=${'x'.repeat(129)}`, 'CreateOptions', [['FieldValueTooLong', 'fieldManager', 'Too long: may not be more than 128 bytes']]],
  [
    'fieldManager=a%09b',
    'CreateOptions',
    [['FieldValueInvalid', 'fieldManager', 'Invalid value: "a\\tb": invalid character U+0009 (at position 1)']],
  ],
  [
    'fieldValidation=strict',
    'CreateOptions',
    [['FieldValueNotSupported', 'fieldValidation', 'Unsupported value: "strict": supported values: "", "Ignore", "Strict", "Warn"']],
  ],
  ['force=true', 'PatchOptions', [['FieldValueForbidden', 'force', 'Forbidden: may not be specified for non-apply patch']]],
  [
    'force=false&dryRun=no',
    'PatchOptions',
    [
      ['FieldValueForbidden', 'force', 'Forbidden: may not be specified for non-apply patch'],
      ['FieldValueNotSupported', 'dryRun', 'Unsupported value: ["no"]: supported values: "All"'],
    ],
  ],
] as const) {
  for (const method of kind === 'PatchOptions' ? (['PATCH'] as const) : (['POST', 'PUT'] as const)) {
    test(`${method} refuses the options ${query.slice(0, 40)}`, async t => {
      const {send} = await startWire();
      const {json, status} = await send(method, `${method === 'POST' ? configMaps : `${configMaps}/a`}?${query}`, {body: aConfigMap('a')});
      const {details, reason, message} = json<Status>();

      t.deepEqual([status, reason], [422, 'Invalid']);
      t.deepEqual(details, {
        group: 'meta.plat.io',
        kind: method === 'PUT' ? 'UpdateOptions' : kind,
        causes: causes.map(([cause, field, text]) => ({reason: cause, message: text, field})),
      });
      t.true(message?.startsWith(`${method === 'PUT' ? 'UpdateOptions' : kind}.meta.plat.io "" is invalid: `), message);
    });
  }
}

for (const [fieldValidation, status, warnings] of [
  ['', 201, 2],
  ['Warn', 201, 2],
  ['Ignore', 201, 0],
  ['Strict', 400, 0],
] as const) {
  test(`unknown and double fields under fieldValidation=${fieldValidation}`, async t => {
    const {post, get} = await startWire();
    const body = '{"metadata":{"name":"a"},"nothing":1,"data":{"a":"1"},"data":{"a":"2"}}';
    const answer = await post(`${configMaps}?fieldValidation=${fieldValidation}`, body);

    t.is(answer.status, status);
    t.deepEqual(
      answer.header('warning'),
      warnings ? ['299 - "unknown field \\"nothing\\""', '299 - "duplicate field \\"data\\""'] : undefined,
    );
    if (status === 400)
      t.is(
        answer.json<Status>().message,
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "nothing", duplicate field "data"',
      );
    else t.deepEqual((await get(`${configMaps}/a`)).json<{data: object}>().data, {a: '2'});
  });
}
