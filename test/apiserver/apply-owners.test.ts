import test from 'ava';
import type {Status} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import {encodeObject} from '#src/schema/protobuf/encode.js';
import {samples} from './samples.js';
import {aConfigMap, configMaps, csrs, startWire, words} from './wire.js';
import {dataOf, entriesOf, ownersOf, seconds, startApply, url} from './applying.js';
import {fieldsOf} from './owned-fields.js';

const lastApplied = words.annotations.lastApplied;
test('every kind of write records its field manager', async t => {
  const {post, put, patch, apply} = await startApply();
  const agent = {headers: {'user-agent': 'tool/v1.2 (linux)'}};
  const made = (await post(configMaps, aConfigMap('a', {data: {a: '1'}}), agent)).json();
  t.deepEqual(entriesOf(made), [
    {
      manager: 'tool',
      operation: 'Update',
      apiVersion: 'v1',
      time: '2026-01-01T00:00:00Z',
      fieldsType: 'FieldsV1',
      fieldsV1: {'f:data': {'.': {}, 'f:a': {}}},
    },
  ]);
  const replaced = (await put(`${url}?fieldManager=put`, {...made, data: {a: '1', b: '1'}})).json();
  t.deepEqual([fieldsOf(replaced, 'tool'), fieldsOf(replaced, 'put')], [{'f:data': {'.': {}, 'f:a': {}}}, {'f:data': {'f:b': {}}}]);
  const types = ['application/merge-patch+json', 'application/strategic-merge-patch+json'];
  for (const [index, type] of types.entries())
    await patch(`${url}?fieldManager=patch${index}`, {data: {[`p${index}`]: '1'}}, {headers: {'content-type': type}});
  await patch(`${url}?fieldManager=patch2`, [{op: 'add', path: '/data/p2', value: '1'}], {
    headers: {'content-type': 'application/json-patch+json'},
  });
  const last = (await apply(url, aConfigMap('a', {data: {z: '1'}}))).json();

  t.deepEqual(ownersOf(last), ['me Apply', 'patch0 Update', 'patch1 Update', 'patch2 Update', 'put Update', 'tool Update']);
});

test('a field that is taken over and removed has no other owner', async t => {
  const {post, patch} = await startApply();
  await post(`${configMaps}?fieldManager=one`, aConfigMap('a', {data: {a: '1', b: '1'}}));
  await patch(`${url}?fieldManager=two`, {data: {a: '2'}});
  const left = (await patch(`${url}?fieldManager=three`, {data: {b: null}})).json();

  t.deepEqual(
    entriesOf(left).map(({manager, fieldsV1}) => [manager, fieldsV1]),
    [
      ['one', {'f:data': {}}],
      ['two', {'f:data': {'f:a': {}}}],
    ],
  );
});

test('the time of an entry moves with its fields alone', async t => {
  const {post, patch, pass} = await startApply();
  await post(`${configMaps}?fieldManager=one`, aConfigMap('a', {data: {a: '1'}}));
  await pass(5 * seconds);
  const same = (await patch(`${url}?fieldManager=one`, {data: {a: '2'}})).json();
  const more = (await patch(`${url}?fieldManager=one`, {data: {b: '1'}})).json();

  t.is(entriesOf(same)[0]?.time, '2026-01-01T00:00:00Z');
  t.is(entriesOf(more)[0]?.time, '2026-01-01T00:00:05Z');
});

test('an empty list of entries, or one empty entry, clears all tracking', async t => {
  const {post, patch, apply} = await startApply();
  await post(configMaps, aConfigMap('a', {data: {a: '1'}}));
  for (const [name, managedFields] of [
    ['b', []],
    ['c', [{}]],
  ] as const) {
    await post(configMaps, aConfigMap(name, {data: {a: '1'}}));
    t.is(entriesOf((await patch(`${configMaps}/${name}`, {metadata: {managedFields: undefined}})).json()).length, 1);
    const cleared = (await patch(`${configMaps}/${name}`, {metadata: {managedFields}})).json();
    t.false('managedFields' in cleared.metadata!, name);
  }
  await patch(url, {metadata: {managedFields: []}});
  t.deepEqual(entriesOf((await patch(url, {data: {b: '1'}})).json()), [], 'an object without entries gets none');
  const applied = (await apply(url, aConfigMap('a', {data: {c: '1'}}))).json();
  t.deepEqual(ownersOf(applied), ['me Apply', 'before-first-apply Update']);
});

test('a writer may bring entries, malformed ones are passed over', async t => {
  const {post, put} = await startApply();
  const made = (await post(configMaps, aConfigMap('a', {data: {a: '1'}}))).json();
  const sent = {manager: 'brought', operation: 'Apply', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: {'f:data': {'f:a': {}}}};
  const kept = (
    await put(`${url}?fieldManager=x`, {...made, metadata: {...made.metadata, managedFields: [{...sent, operation: 'Steal'}]}})
  ).json();
  const brought = (await put(`${url}?fieldManager=x`, {...kept, metadata: {...kept.metadata, managedFields: [sent]}})).json();

  t.deepEqual(ownersOf(kept), ['unknown Update']);
  t.deepEqual(ownersOf(brought), ['brought Apply']);
});

test('entries of versions that are not served, and entries without fields, are dropped at once', async t => {
  const {post, patch} = await startApply();
  const entry = {operation: 'Update', fieldsType: 'FieldsV1', time: '2026-01-01T00:00:00Z'};
  const one = {...entry, manager: 'one', apiVersion: 'v1', fieldsV1: {'f:data': {'f:a': {}}}};
  const sent = [
    one,
    {...entry, manager: 'old', apiVersion: 'v9', fieldsV1: {'f:data': {'f:a': {}}}},
    {...entry, manager: 'x'.repeat(200), apiVersion: 'v1', fieldsV1: {}},
  ];
  await post(configMaps, aConfigMap('a', {data: {a: '1'}}));
  const patched = await patch(url, {metadata: {managedFields: sent}});
  const made = await post(`${configMaps}?fieldManager=maker`, {data: {b: '1'}, metadata: {name: 'b', managedFields: sent}});

  t.is(patched.status, 200, patched.text);
  t.deepEqual(entriesOf(patched.json()), [one]);
  t.is(made.status, 201, made.text);
  t.deepEqual(ownersOf(made.json()), ['maker Update', 'one Update']);
});

test('subresources own only the fields they write', async t => {
  const {post, put, apply} = await startApply();
  const made = (
    await post(`${csrs}?fieldManager=maker`, {
      metadata: {name: 'a', labels: {a: 'b'}},
      ...samples(words)['CertificateSigningRequest'],
      status: {certificate: 'YQ=='},
    })
  ).json();
  t.deepEqual(fieldsOf(made, 'maker'), {'f:metadata': {'f:labels': {'.': {}, 'f:a': {}}}});
  const condition = {type: 'Approved', status: 'True', reason: 'r', message: 'm'};
  const approved = (
    await put(`${csrs}/a/approval?fieldManager=approver`, {...made, spec: {signerName: 'else/where'}, status: {conditions: [condition]}})
  ).json();
  t.deepEqual(ownersOf(approved), ['maker Update', 'approver Update approval'].sort());
  t.deepEqual(fieldsOf(approved, 'approver'), {
    'f:status': {
      'f:conditions': {
        '.': {},
        'k:{"type":"Approved"}': {
          '.': {},
          'f:lastTransitionTime': {},
          'f:lastUpdateTime': {},
          'f:message': {},
          'f:reason': {},
          'f:status': {},
          'f:type': {},
        },
      },
    },
  });
  const failed = {
    apiVersion: words.apiVersion('certificates', 'v1'),
    kind: 'CertificateSigningRequest',
    metadata: {name: 'a'},
    spec: {signerName: 'x/y'},
    status: {conditions: [{type: 'Failed', status: 'True'}]},
  };
  const applied = await apply(`${csrs}/a/status`, failed);
  t.is(applied.status, 200, applied.text);
  t.deepEqual(ownersOf(applied.json())[0], 'me Apply status');
  t.deepEqual(fieldsOf(applied.json(), 'me'), {
    'f:status': {'f:conditions': {'k:{"type":"Failed"}': {'.': {}, 'f:status': {}, 'f:type': {}}}},
  });
  t.deepEqual(
    applied.json<{status: {conditions: {type: string}[]}}>().status.conditions.map(({type}) => type),
    ['Approved', 'Failed'],
  );
  t.is((await apply(`${csrs}/b/status`, {...failed, metadata: {name: 'b'}})).status, 404);
});

test('an intent may set fields that only a creation writes, which stay and have no owner', async t => {
  const {apply} = await startApply();
  const intent = {
    apiVersion: words.apiVersion('certificates', 'v1'),
    kind: 'CertificateSigningRequest',
    metadata: {name: 'a'},
    ...samples(words)['CertificateSigningRequest'],
  };
  const made = await apply(`${csrs}/a`, intent);
  const again = await apply(`${csrs}/a`, {...intent, metadata: {name: 'a', labels: {x: 'y'}}});

  t.deepEqual([made.status, again.status], [201, 200]);
  t.deepEqual(fieldsOf(again.json(), 'me'), {'f:metadata': {'f:labels': {'f:x': {}}}});
  t.deepEqual(again.json<{spec: object}>().spec, made.json<{spec: object}>().spec);
});

test('a kind with two names has one ownership', async t => {
  const {post, get, patch} = await startApply();
  const core = '/api/v1/namespaces/default/events';
  const events = '/apis/events.plat.io/v1/namespaces/default/events';
  await post(`${core}?fieldManager=core`, {metadata: {name: 'e'}, ...samples(words)['Event']});
  const patched = await patch(`${events}/e?fieldManager=new`, {metadata: {labels: {a: 'b'}}});

  t.is(patched.status, 200, patched.text);
  t.deepEqual(
    entriesOf((await get(`${core}/e`)).json()).map(({manager, apiVersion}) => [manager, apiVersion]),
    [
      ['core', 'v1'],
      ['new', 'events.plat.io/v1'],
    ],
  );
});

test('a field that every event has stays when its manager goes on in the other group', async t => {
  const {get, apply} = await startApply();
  const core = '/api/v1/namespaces/default/events/e';
  const events = '/apis/events.plat.io/v1/namespaces/default/events/e';
  const about = {kind: 'Pod', name: 'p', namespace: 'default'};
  const meta = {kind: 'Event', metadata: {name: 'e'}, reason: 'r'};
  const firstTimestamp = '2024-01-01T00:00:00Z';
  await apply(core, {apiVersion: 'v1', ...meta, involvedObject: about, message: 'm', count: 1, firstTimestamp});
  const moved = {apiVersion: 'events.plat.io/v1', ...meta, regarding: about, note: 'm', deprecatedCount: 2};
  t.regex((await apply(events, moved)).json<Status>().message!, /is invalid: count: Invalid value: 2: field is immutable$/);
  t.is((await apply(events, {...moved, deprecatedCount: 1})).status, 200);
  t.like((await get(core)).json(), {firstTimestamp, count: 1});
});

test('lease renewals do not update managed fields', async t => {
  const {post, put} = await startApply();
  const leases = '/apis/coordination.plat.io/v1/namespaces/default/leases';
  const made = (await post(leases, {metadata: {name: 'l'}, spec: {holderIdentity: 'a', renewTime: '2026-01-01T00:00:00.000000Z'}})).json<
    KubeObject & {spec: object}
  >();
  const renewed = (await put(`${leases}/l`, {...made, spec: {...made.spec, renewTime: '2026-01-01T00:00:10.000000Z'}})).json();

  t.deepEqual(entriesOf(renewed), entriesOf(made));
  t.deepEqual(fieldsOf(made, 'unknown'), {'f:spec': {'f:holderIdentity': {}, 'f:renewTime': {}}});
});

test('fields of the last-applied annotation pass to kubectl', async t => {
  const {post, patch, apply} = await startApply();
  const intent = aConfigMap('a', {data: {a: '1', b: '1'}});
  const annotations = {[lastApplied]: `${JSON.stringify(intent)}\n`};
  await post(`${configMaps}?fieldManager=kubectl-client-side-apply`, {...intent, metadata: {name: 'a', annotations}});
  const moved = await apply(url, aConfigMap('a', {data: {a: '2', b: '1'}}), 'fieldManager=kubectl');

  t.is(moved.status, 200, moved.text);
  t.deepEqual(dataOf(moved), {a: '2', b: '1'});
  t.deepEqual(fieldsOf(moved.json(), 'kubectl'), {'f:data': {'f:a': {}, 'f:b': {}}});
  t.deepEqual(JSON.parse(moved.json().metadata?.annotations?.[lastApplied] ?? ''), aConfigMap('a', {data: {a: '2', b: '1'}}));
  await patch(`${url}?fieldManager=other`, {data: {b: '2'}});
  const refused = await apply(url, aConfigMap('a', {data: {a: '3', b: '3'}}), 'fieldManager=kubectl');
  t.is(refused.json<Status>().message, 'Apply failed with 1 conflict: conflict with "other" using v1: .data.b');
});

test('admission may change fields without owning them', async t => {
  const env = await startWire({
    admission: () => [
      {
        name: 'Labeller',
        admit({object}) {
          if (object?.metadata && object.kind === 'ConfigMap') object.metadata.labels = {...object.metadata.labels, injected: 'yes'};
        },
      },
    ],
  });
  const made = (await env.post(configMaps, aConfigMap('a', {data: {k: 'v'}}))).json();

  t.deepEqual(made.metadata?.labels, {injected: 'yes'});
  t.deepEqual(fieldsOf(made, 'unknown'), {'f:data': {'.': {}, 'f:k': {}}});
});

const meddling = (entries: unknown) =>
  startWire({
    admission: () => [
      {
        name: 'Meddler',
        admit({object}) {
          if (object?.metadata && object.kind === 'ConfigMap')
            object.metadata.managedFields = entries as NonNullable<typeof object.metadata.managedFields>;
        },
      },
    ],
  });

test('entries that admission leaves malformed are put back with a warning, others are kept', async t => {
  const bad = await (
    await meddling([{operation: 'Steal', apiVersion: 'v1', fieldsType: 'FieldsV1'}])
  ).post(configMaps, aConfigMap('a', {data: {k: 'v'}}));
  const entry = {manager: 'meddler', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: {'f:data': {'f:k': {}}}};
  const good = await (await meddling([entry])).post(configMaps, aConfigMap('a', {data: {k: 'v'}}));

  t.deepEqual(ownersOf(bad.json()), ['unknown Update']);
  t.regex(
    String(bad.header('warning')),
    /\.metadata\.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: operation must be `Apply` or `Update`/,
  );
  t.deepEqual(entriesOf(good.json()), [entry]);
  t.is(good.header('warning'), undefined);
});

test('objects that come and go in the binary form keep their record', async t => {
  const {post, put} = await startWire();
  const binary = words.protobufMediaType;
  const made = (await post(configMaps, aConfigMap('a', {data: {k: 'v'}}))).json();
  const bytes = encodeObject(made as PlainObject, words);
  const again = await put(`${url}?fieldManager=other`, bytes, {headers: {'content-type': binary}});

  t.is(again.status, 200, again.text);
  t.deepEqual(again.json(), made);
});
