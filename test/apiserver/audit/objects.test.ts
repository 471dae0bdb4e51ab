import test from 'ava';
import type {PagedBody} from '#src/api/request.js';
import {kinds} from '#src/api/kinds/index.js';
import {maxObjectBytes} from '#src/apiserver/audit/response-object.js';
import {withoutManagedFields} from '#src/apiserver/audit/managed-fields.js';
import {runSteps} from '#src/base/steps.js';
import {aConfigMap, configMaps} from '#test/apiserver/wire.js';
import {ofStage, one, startAudited} from './environment.js';

const whole = {rule: {level: 'RequestResponse'}} as const;

test('level Request has the object of the request, level RequestResponse also that of the response', async t => {
  const request = await startAudited({rule: {level: 'Request'}});
  const both = await startAudited(whole);

  for (const {post} of [request, both]) await post(configMaps, aConfigMap('a', {data: {x: '1'}}));

  t.like(one(request.log).requestObject, {kind: 'ConfigMap', apiVersion: 'v1', data: {x: '1'}});
  t.is(one(request.log).responseObject, undefined);
  t.like(one(both.log).responseObject, {kind: 'ConfigMap', apiVersion: 'v1', metadata: {name: 'a', resourceVersion: '3'}, data: {x: '1'}});
  t.is(ofStage(both.log, 'RequestReceived')[0]!.requestObject, undefined);
});

test('the object of a request has its defaults, kind and version, but nothing of admission', async t => {
  const {post, log} = await startAudited({
    rule: {level: 'Request'},
    admission: () => [
      {
        name: 'Labels',
        admit({object}) {
          object!.metadata!.labels = {admitted: 'yes'};
        },
      },
    ],
  });

  await post('/api/v1/namespaces/default/pods', {metadata: {name: 'p'}, spec: {containers: [{name: 'c', image: 'i:1'}]}});

  const {requestObject} = one(log);
  t.like(requestObject, {kind: 'Pod', apiVersion: 'v1', spec: {restartPolicy: 'Always', containers: [{imagePullPolicy: 'IfNotPresent'}]}});
  t.deepEqual((requestObject as {metadata: object}).metadata, {name: 'p'});
});

test('an event stays one line whatever was sent', async t => {
  const {send, patch, log} = await startAudited(whole);

  await send('POST', `${configMaps}?pretty=true`, {
    body: '{\n "kind": "ConfigMap", "apiVersion": "v1",\n "metadata": {"name": "a"},\n "data": {"x": "1\\n2"}}\n',
  });
  await patch(`${configMaps}/a`, '{\n  "data":\r\n {"y": "2"}\n}\n');
  await patch(`${configMaps}/a?fieldManager=me&force=true`, 'kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\ndata:\n  z: "3"\n', {
    headers: {'Content-Type': 'application/apply-patch+yaml'},
  });

  t.true(log.lines.every(line => line.indexOf('\n') === line.length - 1));
  t.deepEqual(
    ofStage(log).map(({requestObject}) => requestObject?.['data']),
    [{x: '1\n2'}, {y: '2'}, {z: '3'}],
  );
  t.like(ofStage(log)[2]!.responseObject, {data: {x: '1\n2', y: '2', z: '3'}});
});

test('a patch is recorded byte by byte where it is one line', async t => {
  const {post, patch, log} = await startAudited({rule: {level: 'Request', verbs: ['patch']}});
  await post(configMaps, aConfigMap('a'));

  await patch(`${configMaps}/a`, '{ "data" : {"x":"1"} }');

  t.true(log.lines[1]!.includes('"requestObject":{ "data" : {"x":"1"} },"requestReceived'));
});

test('a malformed body is not recorded', async t => {
  const {send, post, log} = await startAudited(whole);
  await post(configMaps, aConfigMap('a'));
  log.lines = [];

  await send('POST', configMaps, {body: '{"kind":'});
  await send('PATCH', `${configMaps}/a`, {body: '{"kind":'});

  t.deepEqual(
    ofStage(log).map(({requestObject, responseObject}) => [requestObject, responseObject?.['code']]),
    [
      [undefined, 400],
      [undefined, 400],
    ],
  );
});

test('the options of a deletion are its object, and a Status of success is recorded', async t => {
  const {post, remove, log} = await startAudited(whole);
  await post(configMaps, aConfigMap('a'));
  log.lines = [];

  await remove(`${configMaps}/a`, {body: {propagationPolicy: 'Background'}});

  const {requestObject, responseStatus, responseObject} = one(log);
  t.like(requestObject, {kind: 'DeleteOptions', propagationPolicy: 'Background'});
  t.like(responseStatus, {status: 'Success', code: 200, details: {name: 'a', kind: 'configmaps'}});
  t.like(responseObject, {kind: 'Status', status: 'Success'});
});

test('reviews and other actions are recorded with what was asked and answered', async t => {
  const {post, log} = await startAudited(whole);

  await post('/apis/authentication.plat.io/v1/selfsubjectreviews', {});

  const {requestObject, responseObject} = one(log);
  t.is(requestObject?.['kind'], 'SelfSubjectReview');
  t.like(responseObject, {kind: 'SelfSubjectReview', status: {userInfo: {username: 'admin'}}});
});

test('a list is recorded whole, in every form and shape that clients ask for', async t => {
  const {post, get, log, clientOf} = await startAudited(whole);
  for (const name of ['a', 'b']) await post(configMaps, aConfigMap(name));
  log.lines = [];

  await get(configMaps);
  await get(configMaps, {headers: {Accept: 'application/yaml'}});
  await get(`${configMaps}?pretty=true`);
  await get(configMaps, {headers: {Accept: 'application/json;as=Table;v=v1;g=meta.plat.io'}});
  await clientOf().resource(kinds.configMaps).list({namespace: 'default'});

  t.deepEqual(
    ofStage(log).map(({responseObject}) => [responseObject?.['kind'], (responseObject?.items ?? (responseObject?.['rows'] as []))?.length]),
    [
      ['ConfigMapList', 2],
      ['ConfigMapList', 2],
      ['ConfigMapList', 2],
      ['Table', 2],
      ['ConfigMapList', 2],
    ],
  );
});

const many = async () => {
  const env = await startAudited({...whole, policy: {rules: [{level: 'RequestResponse', verbs: ['list']}]}});
  const data = {x: 'y'.repeat(40_000)};
  for (let i = 0; i < 60; i++) await env.post(configMaps, aConfigMap(`m-${i}`, {data}));
  return env;
};

test('a list in pages is recorded whole when its last page is sent', async t => {
  const {get, log, server} = await many();
  const response = await server.handler({
    method: 'GET',
    url: configMaps,
    headers: {},
    caller: {user: {name: 'jane', groups: []}},
    remoteAddress: '127.0.0.1',
    signal: new AbortController().signal,
  });
  t.is(response.body.kind, 'pages');
  t.is((response.body as PagedBody).reuse, undefined, 'pages that are recorded are kept');
  t.is(ofStage(log).length, 0);
  if (response.body.kind === 'pages') response.body.close();
  t.is(ofStage(log).length, 1);
  log.lines = [];

  await get(configMaps);
  await get(configMaps, {headers: {Accept: 'application/yaml'}});

  t.deepEqual(
    ofStage(log).map(({responseObject}) => responseObject?.items?.length),
    [60, 60],
  );
  t.true(log.lines.every(line => line.length < maxObjectBytes));
});

test('a list that is too long is left out, with an annotation', async t => {
  const {post, get, log} = await startAudited({policy: {rules: [{level: 'RequestResponse', verbs: ['list']}]}});
  const data = {x: 'y'.repeat(900_000)};
  for (let i = 0; i < 20; i++) await post(configMaps, aConfigMap(`m-${i}`, {data}));

  const {text} = await get(configMaps);

  t.true(text.length > maxObjectBytes);
  t.is(one(log).responseObject, undefined);
  t.is(one(log).annotations?.['audit.plat.io/truncated'], 'true');
});

test('managed fields are left out of objects, lists and tables where the policy says so', async t => {
  const {post, put, get, log} = await startAudited({...whole, policy: {omitManagedFields: true}});
  const made = await post(configMaps, aConfigMap('a', {data: {managedFields: 'kept'}}));

  await put(`${configMaps}/a`, made.json());
  await get(configMaps);
  await get(configMaps, {headers: {Accept: 'application/json;as=Table;v=v1;g=meta.plat.io'}});

  t.true(made.text.includes('"managedFields":['));
  t.false(log.lines.some(line => line.includes('"managedFields":[')));
  t.deepEqual(ofStage(log)[1]!.requestObject?.['data'], {managedFields: 'kept'});
  t.is(ofStage(log)[2]!.responseObject?.items?.length, 1);
});

for (const [what, json, expected] of [
  ['first', '{"metadata":{"managedFields":[{"a":"]}\\""}],"name":"x"}}', '{"metadata":{"name":"x"}}'],
  ['last', '{"metadata":{"name":"x","managedFields":[{"a":{"b":[]}}]},"kind":"K"}', '{"metadata":{"name":"x"},"kind":"K"}'],
  ['alone', '{"metadata":{"managedFields":null}}', '{"metadata":{}}'],
  [
    'of items',
    '{"items":[{"metadata":{"managedFields":[1],"a":1}},{"metadata":{"a":2,"managedFields":[1]}}]}',
    '{"items":[{"metadata":{"a":1}},{"metadata":{"a":2}}]}',
  ],
  [
    'elsewhere',
    '{"spec":{"metadata":{"managedFields":[1]}},"managedFields":[2]}',
    '{"spec":{"metadata":{"managedFields":[1]}},"managedFields":[2]}',
  ],
  [
    'in a text',
    String.raw`{"metadata":{"name":"\"managedFields\":[1]","managedFields":[]}}`,
    String.raw`{"metadata":{"name":"\"managedFields\":[1]"}}`,
  ],
] as const)
  test(`managed fields are removed from JSON by their place: ${what}`, t => {
    t.is(runSteps(withoutManagedFields(Buffer.from(json))).toString(), expected);
  });
