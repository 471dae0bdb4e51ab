import test from 'ava';
import type {Status} from '#src/api/status.js';
import type {ConfigMap, KubeObject} from '#src/api/types.js';
import {aConfigMap, configMaps, settled, startWire} from './wire.js';
import {now} from './object-writes.js';

const roles = '/apis/rbac.authorization.plat.io/v1/namespaces/default/roles';
const leases = '/apis/coordination.plat.io/v1/namespaces/default/leases';
const aRole = (name: string, metadata: object = {}) => ({metadata: {name, ...metadata}, rules: []});

for (const [title, metadata, message] of [
  ['another name', {name: 'b'}, 'the name of the object (b) does not match the name on the URL (a)'],
  ['no name', {}, 'the name of the object (a based on URL) was undeterminable: name must be provided'],
  [
    'another namespace',
    {name: 'a', namespace: 'other'},
    'the namespace of the provided object does not match the namespace sent on the request',
  ],
  [
    'another name in another namespace',
    {name: 'b', namespace: 'other'},
    'the namespace of the provided object does not match the namespace sent on the request',
  ],
] as const) {
  test(`PUT refuses ${title}, whether or not the object is there`, async t => {
    const {post, put} = await startWire();
    t.like((await put(`${configMaps}/a`, {metadata})).json<Status>(), {code: 400, message});
    await post(configMaps, aConfigMap('a'));
    t.like((await put(`${configMaps}/a`, {metadata})).json<Status>(), {code: 400, message});
  });
}

test('PUT of a missing object is a 404, or a creation where the kind allows it', async t => {
  const {put, get} = await startWire();

  t.like((await put(`${configMaps}/a`, aConfigMap('a'))).json<Status>(), {
    code: 404,
    reason: 'NotFound',
    message: 'configmaps "a" not found',
  });
  t.like((await put(`${roles}/a`, aRole('a', {uid: 'u'}))).json<Status>(), {
    code: 409,
    reason: 'Conflict',
    message:
      'Operation cannot be fulfilled on roles.rbac.authorization.plat.io "a": uid mismatch: the provided object specified uid u, and no existing object was found',
  });
  t.is((await put(`${roles}/a?dryRun=All`, aRole('a'))).status, 201);
  t.is((await get(`${roles}/a`)).status, 404);
  t.is((await put(`${roles}/a`, aRole('a', {resourceVersion: '12345'}))).status, 201);
  t.is((await put(`${roles}/a`, aRole('a'))).status, 200);
});

test('a PUT that creates needs the right to create', async t => {
  const {put} = await startWire({
    authorizer: {authorize: ({verb, user}) => ({decision: user.name === 'jane' && verb === 'create' ? 'noOpinion' : 'allow'})},
  });
  const {json} = await put(`${roles}/a`, aRole('a'), {user: {name: 'jane', groups: []}});

  t.like(json<Status>(), {
    code: 403,
    message:
      'roles.rbac.authorization.plat.io "a" is forbidden: User "jane" cannot create resource "roles" in API group "rbac.authorization.plat.io" in the namespace "default"',
  });
});

test('two PUTs that both create end as one creation and one update', async t => {
  const {put} = await startWire();
  const answers = await Promise.all(['1', '2'].map(by => put(`${roles}/a`, aRole('a', {annotations: {by}}))));

  t.deepEqual(answers.map(({status}) => status).sort(), [200, 201]);
});

test('a PUT must know the version it replaces, or leave it out where the kind allows that', async t => {
  const {post, put} = await startWire();
  const made = (await post(configMaps, aConfigMap('a'))).json();
  const version = made.metadata?.resourceVersion ?? '';
  const write = (resourceVersion: string | undefined, by: string) =>
    put(`${configMaps}/a`, {metadata: {name: 'a', ...(resourceVersion === undefined ? {} : {resourceVersion}), annotations: {by}}});

  t.is((await write(version, '1')).status, 200);
  t.like((await write(version, '2')).json<Status>(), {
    code: 409,
    reason: 'Conflict',
    message:
      'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
    details: {name: 'a', kind: 'configmaps'},
  });
  t.is((await write(undefined, '3')).status, 200);
  t.is((await write('0', '4')).status, 200);
  t.is((await write('', '5')).status, 200);

  await post(leases, {metadata: {name: 'l'}, spec: {}});
  t.like((await put(`${leases}/l`, {metadata: {name: 'l'}, spec: {}})).json<Status>(), {
    code: 422,
    reason: 'Invalid',
    message: 'leases.coordination.plat.io "l" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
    details: {
      causes: [
        {reason: 'FieldValueInvalid', field: 'metadata.resourceVersion', message: 'Invalid value: 0: must be specified for an update'},
      ],
    },
  });
});

test('a uid on PUT is a precondition', async t => {
  const {post, put} = await startWire();
  const {metadata} = (await post(configMaps, aConfigMap('a'))).json();

  t.is((await put(`${configMaps}/a`, {metadata: {name: 'a', uid: metadata?.uid}})).status, 200);
  for (const [query, key] of [
    ['', '/registry/configmaps/default/a'],
    ['?dryRun=All', '/configmaps/default/a'],
  ])
    t.like((await put(`${configMaps}/a${query}`, {metadata: {name: 'a', uid: 'other'}})).json<Status>(), {
      code: 409,
      message: `Operation cannot be fulfilled on configmaps "a": StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: other, UID in object meta: ${metadata?.uid}`,
    });
});

test('fields of the server survive a PUT, and fields of the client are replaced', async t => {
  const {post, put} = await startWire();
  const made = (await post(configMaps, {metadata: {name: 'a', labels: {x: 'y'}, generateName: 'a'}, data: {k: 'v'}})).json();
  const {metadata} = (
    await put(`${configMaps}/a`, {metadata: {name: 'a', creationTimestamp: '1999-01-01T00:00:00Z', generation: 9}})
  ).json();

  const {managedFields: _, ...rest} = metadata ?? {};
  t.deepEqual(rest, {
    name: 'a',
    namespace: 'default',
    uid: made.metadata?.uid,
    creationTimestamp: now,
    resourceVersion: metadata?.resourceVersion,
  } as typeof rest);
});

test('an update may repeat or leave out the deletion, and not change it', async t => {
  const {post, put, patch} = await startWire();
  await post(configMaps, {metadata: {name: 'a'}});
  const refused = await put(`${configMaps}/a`, {
    metadata: {name: 'a', deletionTimestamp: '1999-01-01T00:00:00Z', deletionGracePeriodSeconds: 5},
  });

  t.is(refused.status, 422);
  t.is(
    refused.json<Status>().message,
    'ConfigMap "a" is invalid: [metadata.deletionTimestamp: Invalid value: "1999-01-01T00:00:00Z": field is immutable, metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable]',
  );
  t.is((await patch(`${configMaps}/a`, {metadata: {deletionTimestamp: null}})).status, 200);
});

test('a dry run may set the resource version of the object it would create', async t => {
  const {post} = await startWire();

  for (const resourceVersion of ['7', 'x']) {
    const tried = await post(`${configMaps}?dryRun=All`, {metadata: {name: 'a', resourceVersion}});
    t.deepEqual([tried.status, tried.json<KubeObject>().metadata?.resourceVersion], [201, resourceVersion]);
  }
  // An invalid version is treated as absent.
  const made = await post(configMaps, {metadata: {name: 'a', resourceVersion: 'x'}});
  t.is(made.status, 201);
  t.regex(made.json<KubeObject>().metadata?.resourceVersion ?? '', /^\d+$/);
});

test('a write that changes nothing is not stored, and watchers receive no event', async t => {
  const {post, put, patch, watch, clock} = await startWire();
  const made = (await post(configMaps, aConfigMap('a', {data: {b: '1', a: '2'}}))).json();
  using stream = await watch(`${configMaps}?watch=1&resourceVersion=${made.metadata?.resourceVersion}`);
  const again = await put(`${configMaps}/a`, {...made, data: {a: '2', b: '1'}});
  const patched = await patch(`${configMaps}/a`, {data: {a: '2'}});
  await settled(clock);

  t.is(again.json().metadata?.resourceVersion, made.metadata?.resourceVersion);
  t.is(patched.json().metadata?.resourceVersion, made.metadata?.resourceVersion);
  t.deepEqual(stream.summaries, []);
});

test('a key that every JavaScript object seems to have is stored and removed like others', async t => {
  const {post, put, get} = await startWire();
  await post(configMaps, aConfigMap('a', {data: {}}));
  for (const data of [{constructor: 'x', toString: 'y'}, {constructor: 'x'}]) {
    t.is((await put(`${configMaps}/a`, aConfigMap('a', {data}))).status, 200);
    t.deepEqual((await get(`${configMaps}/a`)).json<ConfigMap>().data, data as object);
  }
});

test('the update that takes the last finalizer of a dying object removes it', async t => {
  const {post, put, remove, get, watch, clock} = await startWire();
  await post(configMaps, {metadata: {name: 'a', finalizers: ['x.io/y']}});
  const dying = (await remove(`${configMaps}/a`)).json();
  using stream = await watch(`${configMaps}?watch=1&resourceVersion=${dying.metadata?.resourceVersion}`);
  const kept = await put(`${configMaps}/a?dryRun=All`, {metadata: {name: 'a'}});
  t.is((await get(`${configMaps}/a`)).status, 200);
  const last = await put(`${configMaps}/a`, {metadata: {name: 'a'}, data: {last: 'words'}});
  await settled(clock);

  t.is(kept.status, 200);
  t.is(last.status, 200);
  t.is(last.json().metadata?.deletionTimestamp, now);
  t.is((await get(`${configMaps}/a`)).status, 404);
  t.deepEqual(stream.summaries, ['DELETED a']);
  t.true(Number(stream.events[0]?.object.metadata?.resourceVersion) > Number(dying.metadata?.resourceVersion));
});

test('owner references that are there twice are dropped with a warning', async t => {
  const {post, put, patch} = await startWire();
  const owner = {apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u1'};
  const made = await post(configMaps, {metadata: {name: 'a', ownerReferences: [owner, owner, {...owner, uid: 'u2'}, owner]}});
  const warning =
    '299 - ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: u1, u1"';

  t.deepEqual(made.header('warning'), [warning]);
  t.deepEqual(
    made.json().metadata?.ownerReferences?.map(({uid}) => uid),
    ['u1', 'u2'],
  );
  t.is(
    (await put(`${configMaps}/a`, {metadata: {name: 'a', ownerReferences: [owner, owner]}})).json().metadata?.ownerReferences?.length,
    1,
  );
  const patched = await patch(`${configMaps}/a`, {metadata: {ownerReferences: [owner, owner]}});
  t.regex(String(patched.header('warning')), /duplicate entries after mutating admission happens/);
});

for (const [title, patch, code, message] of [
  ['the name', {metadata: {name: 'b'}}, 400, 'the name of the object (b) does not match the name on the URL (a)'],
  ['the name away', {metadata: {name: null}}, 400, 'the name of the object (a based on URL) was undeterminable: name must be provided'],
  [
    'the namespace',
    {metadata: {namespace: 'b'}},
    400,
    'the namespace of the provided object does not match the namespace sent on the request',
  ],
  ['the uid', {metadata: {uid: 'b'}}, 422, 'ConfigMap "a" is invalid: metadata.uid: Invalid value: "b": field is immutable'],
  ['the version', {metadata: {resourceVersion: '1'}}, 409, 'the object has been modified'],
  ['the kind', {kind: 'Secret'}, 422, ' "" is invalid: patch: Invalid value: "{'],
  ['what it is', {kind: 'Secret'}, 422, '}": converting (v1.Secret) to (core.ConfigMap): unknown conversion'],
  [
    'the version of its API',
    {apiVersion: 'v2'},
    422,
    '}": no kind "ConfigMap" is registered for version "v2" in scheme "pkg/api/legacyscheme/scheme.go:30"',
  ],
] as const) {
  test(`a patch cannot change ${title}`, async t => {
    const {post, patch: send} = await startWire();
    await post(configMaps, aConfigMap('a'));
    const answer = (await send(`${configMaps}/a`, patch)).json<Status>();

    t.is(answer.code, code);
    t.true(answer.message?.includes(message), answer.message);
  });
}

const controllers = '/api/v1/namespaces/default/replicationcontrollers';

for (const [title, type, patch, code, message] of [
  ['the version', 'merge', '{"apiVersion":null}', 400, 'the name of the object (a based on URL) was undeterminable: name must be provided'],
  ['both', 'json', '[{"op":"remove","path":"/apiVersion"},{"op":"remove","path":"/kind"}]', 400, 'name must be provided'],
  ['the kind', 'merge', '{"kind":null}', 200, ''],
  ['a group', 'merge', '{"apiVersion":"/v1"}', 200, ''],
  [
    'a kind that is none',
    'merge',
    '{"kind":5}',
    422,
    'parse error: json: cannot unmarshal number into Go struct field .kind of type string',
  ],
  ['a version that is none', 'merge', '{"apiVersion":"a/b/c"}', 422, 'unexpected GroupVersion string: a/b/c'],
  ['a fraction', 'merge', '{"spec":{"replicas":1.0}}', 422, 'number 1.0 into Go struct field ReplicationControllerSpec.spec.replicas of'],
  ['an exponent', 'json', '[{"op":"add","path":"/spec/replicas","value":1e0}]', 422, 'cannot unmarshal number 1e0 into Go struct field'],
  ['a fraction in a strategic patch', 'strategic-merge', '{"spec":{"replicas":1.0}}', 200, ''],
] as const) {
  test(`a patch that leaves out or sends ${title} is answered with ${code}`, async t => {
    const {post, patch: send} = await startWire();
    const spec = {replicas: 1, selector: {a: 'b'}, template: {metadata: {labels: {a: 'b'}}, spec: {containers: [{name: 'c', image: 'i'}]}}};
    t.is((await post(controllers, {metadata: {name: 'a'}, spec})).status, 201);
    const headers = {'content-type': `application/${type}-patch+json`};
    const answer = await send(`${controllers}/a`, Buffer.from(patch), {headers});

    t.is(answer.status, code, answer.text);
    t.true(answer.text.includes(message), answer.text);
  });
}

test('the fields of an object without a version are unknown', async t => {
  const {post, patch} = await startWire();
  await post(configMaps, aConfigMap('a'));
  const headers = {'content-type': 'application/merge-patch+json'};
  const strict = await patch(`${configMaps}/a?fieldValidation=Strict`, {apiVersion: null}, {headers});

  t.is(strict.status, 422);
  t.regex(strict.json<Status>().message!, /: strict decoding error: unknown field "metadata"$/);
});

test('the kind in a strategic patch is ignored', async t => {
  const {post, patch} = await startWire();
  await post(configMaps, aConfigMap('a'));
  const answer = await patch(
    `${configMaps}/a`,
    {kind: 'Secret', apiVersion: 'v2', data: {k: 'v'}},
    {headers: {'content-type': 'application/strategic-merge-patch+json'}},
  );

  t.like(answer.json(), {kind: 'ConfigMap', apiVersion: 'v1', data: {k: 'v'}} as object);
});

test('a patch of a missing object is a 404, one of an unknown type a 415', async t => {
  const {patch} = await startWire();
  t.is((await patch(`${configMaps}/a`, {})).status, 404);
  t.like((await patch(`${configMaps}/a`, {}, {headers: {'content-type': 'application/json'}})).json<Status>(), {
    code: 415,
    reason: 'UnsupportedMediaType',
    message: '415: Unsupported Media Type',
    details: {},
  });
});

test('patches that meet are all applied', async t => {
  const {post, patch, get} = await startWire();
  await post(configMaps, aConfigMap('a'));
  const keys = Array.from({length: 20}, (_, index) => `k${index}`);
  const answers = await Promise.all(keys.map(key => patch(`${configMaps}/a`, {data: {[key]: 'v'}})));

  t.true(answers.every(({status}) => status === 200));
  t.deepEqual(Object.keys((await get(`${configMaps}/a`)).json<{data: object}>().data).sort(), keys.sort());
});

test('of two PUTs that know the same version one wins', async t => {
  const {post, put} = await startWire();
  const made = (await post(configMaps, aConfigMap('a'))).json();
  const answers = await Promise.all(
    ['1', '2'].map(by => put(`${configMaps}/a`, {...made, metadata: {...made.metadata, annotations: {by}}})),
  );

  t.deepEqual(answers.map(({status}) => status).sort(), [200, 409]);
});

test('a selfLink is shown by a dry run of an update and never stored', async t => {
  const {post, put, get} = await startWire();
  await post(configMaps, aConfigMap('a'));
  const linked = {metadata: {name: 'a', selfLink: '/x'}, data: {k: 'w'}};

  t.is((await put(`${configMaps}/a?dryRun=All`, linked)).json().metadata?.selfLink, '/x');
  t.is((await put(`${configMaps}/a`, linked)).json().metadata?.selfLink, undefined);
  t.is((await get(`${configMaps}/a`)).json().metadata?.selfLink, undefined);
});
