import test from 'ava';
import type {Status} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import {encodeObject} from '#src/schema/protobuf/encode.js';
import {names, samples} from './samples.js';
import {aConfigMap, configMaps, csrs, startWire, words} from './wire.js';
import {dataOf, entriesOf, ownersOf, seconds, startApply, url} from './applying.js';

const lastApplied = words.annotations.lastApplied;
const fieldsOf = (object: KubeObject, manager: string): object | undefined =>
  entriesOf(object).find(entry => entry.manager === manager)?.fieldsV1;

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
  t.deepEqual(entriesOf((await patch(url, {data: {b: '1'}})).json()), [], 'who is not tracked stays so');
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
    await put(`${csrs}/a/approval?fieldManager=judge`, {...made, spec: {signerName: 'else/where'}, status: {conditions: [condition]}})
  ).json();
  t.deepEqual(ownersOf(approved), ['maker Update', 'judge Update approval'].sort());
  t.deepEqual(fieldsOf(approved, 'judge'), {
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

const deployments = '/apis/apps/v1/namespaces/default/deployments';
const aDeployment = (name: string, replicas?: number) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: {name},
  spec: {
    ...(replicas === undefined ? {} : {replicas}),
    selector: {matchLabels: {app: 'web'}},
    template: {metadata: {labels: {app: 'web'}}, spec: {containers: [{name: 'web', image: 'nginx', ports: [{containerPort: 80}]}]}},
  },
});

test('defaults belong to the manager that creates, not to the one that applies', async t => {
  const {post, apply} = await startApply();
  const made = (await post(`${deployments}?fieldManager=maker`, aDeployment('made'))).json();
  const applied = (await apply(`${deployments}/applied`, aDeployment('applied'))).json();
  const container = (more: object) => ({'k:{"name":"web"}': {'.': {}, 'f:image': {}, 'f:name': {}, ...more}});
  const port = '"containerPort":80,"protocol":"TCP"';

  t.deepEqual(fieldsOf(applied, 'me'), {
    'f:spec': {
      'f:selector': {},
      'f:template': {
        'f:metadata': {'f:labels': {'f:app': {}}},
        'f:spec': {'f:containers': container({'f:ports': {[`k:{${port}}`]: {'.': {}, 'f:containerPort': {}}}})},
      },
    },
  });
  t.deepEqual(fieldsOf(made, 'maker'), {
    'f:spec': {
      'f:progressDeadlineSeconds': {},
      'f:replicas': {},
      'f:revisionHistoryLimit': {},
      'f:selector': {},
      'f:strategy': {'f:rollingUpdate': {'.': {}, 'f:maxSurge': {}, 'f:maxUnavailable': {}}, 'f:type': {}},
      'f:template': {
        'f:metadata': {'f:labels': {'.': {}, 'f:app': {}}},
        'f:spec': {
          'f:containers': container({
            'f:imagePullPolicy': {},
            'f:ports': {'.': {}, [`k:{${port}}`]: {'.': {}, 'f:containerPort': {}, 'f:protocol': {}}},
            'f:resources': {},
            'f:terminationMessagePath': {},
            'f:terminationMessagePolicy': {},
          }),
          'f:dnsPolicy': {},
          'f:restartPolicy': {},
          'f:schedulerName': {},
          'f:securityContext': {},
          'f:terminationGracePeriodSeconds': {},
        },
      },
    },
  });
});

test('a scale is owned as the replicas of its object', async t => {
  const {apply, patch, get} = await startApply();
  const item = `${deployments}/web`;
  const aScale = (replicas: number, metadata: object = {}) => ({
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: {name: 'web', ...metadata},
    spec: {replicas},
  });
  t.is((await apply(`${item}/scale`, aScale(2))).status, 404);
  await apply(item, aDeployment('web', 1), 'fieldManager=owner');
  t.is(
    (await apply(`${item}/scale`, aScale(2))).json<Status>().message,
    'Apply failed with 1 conflict: conflict with "owner": .spec.replicas',
  );
  t.is((await apply(`${item}/scale`, aScale(2, {uid: 'other'}))).status, 409);
  t.is((await apply(`${item}/scale`, aScale(-1), 'fieldManager=me&force=true')).status, 422);
  t.is(
    (await apply(`${item}/scale`, {...aScale(2), extra: 1})).json<Status>().message,
    'failed to create typed patch object (/web; autoscaling/v1, Kind=Scale): .extra: field not declared in schema',
  );
  const scaled = await apply(`${item}/scale`, aScale(2), 'fieldManager=scaler&force=true');
  t.like(scaled.json(), {kind: 'Scale', spec: {replicas: 2}}, scaled.text);

  const first = (await get(item)).json();
  t.deepEqual(ownersOf(first).sort(), ['owner Apply', 'scaler Apply scale']);
  t.deepEqual(fieldsOf(first, 'scaler'), {'f:spec': {'f:replicas': {}}});
  await patch(`${item}/scale?fieldManager=hand`, {spec: {replicas: 3}});
  const patched = (await get(item)).json();
  t.deepEqual(ownersOf(patched).sort(), ['hand Update scale', 'owner Apply']);
  t.deepEqual(
    entriesOf(patched)
      .filter(({subresource}) => subresource)
      .map(({time}) => time),
    [undefined],
    'what comes through the scale has no time',
  );
  t.true(
    (await patch(`${item}/scale`, {spec: {replicas: 'x'}}))
      .json<Status>()
      .message?.includes(
        String.raw`\"managedFields\":[{\"manager\":\"hand\",\"operation\":\"Update\",\"apiVersion\":\"autoscaling/v1\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:spec\":{\"f:replicas\":{}}}`,
      ),
    'a patch finds the owners of the size',
  );
  t.is(
    (await apply(`${item}/scale`, aScale(4), 'fieldManager=me')).json<Status>().message,
    'Apply failed with 1 conflict: conflict with "hand" with subresource "scale" using autoscaling/v1: .spec.replicas',
  );
  const kept = await apply(item, aDeployment('web'), 'fieldManager=owner');
  t.like(kept.json(), {spec: {replicas: 3}}, 'who lost the size does not take it away');
});

test('every kind can be applied, and applied again to no effect', async t => {
  const {server, apply, remove} = await startApply();
  const known: Readonly<Record<string, Partial<KubeObject>>> = samples(words);
  for (const [index, {kind, resource}] of [...server.registry.served].entries()) {
    if (resource.definition.review || resource.definition.virtual) continue;
    const group = words.group(kind.group);
    const sample = known[`${group}/${kind.kind}`] ?? known[kind.kind];
    const intent = {
      apiVersion: words.apiVersion(kind.group, kind.version),
      kind: kind.kind,
      ...sample,
      metadata: {name: names[kind.kind]?.['one'] ?? `applied-${index}`, labels: {a: 'b'}, ...sample?.metadata},
    };
    const address = `${group ? `/apis/${group}` : '/api'}/${kind.version}/${kind.namespaced ? 'namespaces/default/' : ''}${kind.plural}/${intent.metadata.name}`;
    const made = await apply(address, intent);
    t.is(made.status, 201, `${address} ${made.text}`);
    t.deepEqual(ownersOf(made.json()), ['me Apply'], address);
    const again = await apply(address, intent);
    t.deepEqual(again.json(), made.json(), address);
    await remove(address);
  }
});

test('the manager that registers a node does not own the status it sends', async t => {
  const {post} = await startWire();
  const made = await post('/api/v1/nodes', {metadata: {name: 'n'}, spec: {unschedulable: true}, status: {phase: 'Running'}});
  const [entry] = made.json<KubeObject>().metadata?.managedFields ?? [];

  t.deepEqual(entry?.fieldsV1, {'f:spec': {'f:unschedulable': {}}});
});

test('the creating manager owns fields that the server fills in', async t => {
  const {post} = await startWire({gate: () => true});
  const owned = async (url: string, object: object) => (await post(`${url}?fieldManager=me`, object)).json<KubeObject>();
  const template = {metadata: {labels: {a: 'b'}}, spec: {containers: [{name: 'c', image: 'i'}]}};
  const set = await owned('/apis/apps/v1/namespaces/default/daemonsets', {
    metadata: {name: 'd'},
    spec: {selector: {matchLabels: {a: 'b'}}, template},
  });
  const driver = await owned('/apis/storage.plat.io/v1/csidrivers', {metadata: {name: 'd.example.com'}, spec: {}});
  const address = await owned('/apis/networking.plat.io/v1/ipaddresses', {
    metadata: {name: '10.0.0.99'},
    spec: {parentRef: {resource: 'services', name: 's'}},
  });

  t.like(fieldsOf(set, 'me'), {'f:metadata': {'f:annotations': {'.': {}, 'f:deprecated.daemonset.template.generation': {}}}});
  t.like(fieldsOf(driver, 'me'), {'f:spec': {'f:seLinuxMount': {}}});
  t.deepEqual(fieldsOf(address, 'me'), {'f:spec': {'f:parentRef': {'.': {}, 'f:name': {}, 'f:resource': {}}}});
});

test('a write to finalize owns the finalizers of a namespace even when they do not change', async t => {
  const {post, put} = await startWire();
  const made = (await post('/api/v1/namespaces', {metadata: {name: 'n'}})).json<KubeObject & {spec: object}>();
  const written = (await put('/api/v1/namespaces/n?fieldManager=me', {...made, spec: {finalizers: ['a/b']}})).json<
    KubeObject & {spec: object}
  >();

  t.deepEqual(fieldsOf(written, 'me'), {'f:spec': {'f:finalizers': {}}});
  t.deepEqual(written.spec, made.spec);
});

test('the reporter of an event owns it in the version it was sent in', async t => {
  const {post} = await startWire();
  const event = {
    metadata: {name: 'e', namespace: 'default'},
    regarding: {namespace: 'default'},
    note: 'n',
    reason: 'r',
    action: 'a',
    type: 'Normal',
    eventTime: '2026-01-01T00:00:00.000000Z',
    reportingController: 'a/b',
    reportingInstance: 'i',
  };
  const [entry] = (await post('/apis/events.plat.io/v1/namespaces/default/events', event)).json<KubeObject>().metadata?.managedFields ?? [];

  t.deepEqual(Object.keys(entry?.fieldsV1 ?? {}).sort(), [
    'f:action',
    'f:eventTime',
    'f:note',
    'f:reason',
    'f:regarding',
    'f:reportingController',
    'f:reportingInstance',
    'f:type',
  ]);
});
