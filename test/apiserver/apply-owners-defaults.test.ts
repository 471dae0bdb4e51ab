import test from 'ava';
import type {Status} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {names, samples} from './samples.js';
import {startWire, words} from './wire.js';
import {entriesOf, ownersOf, startApply} from './applying.js';
import {fieldsOf} from './owned-fields.js';

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
  t.like(kept.json(), {spec: {replicas: 3}}, 'a manager that lost the size does not remove it');
});

test('replicas that nobody owns stay without an owner when the scale is changed, and refuse an apply of another size', async t => {
  const {apply, patch, get} = await startApply();
  const item = `${deployments}/web`;
  const aScale = (replicas: number) => ({apiVersion: 'autoscaling/v1', kind: 'Scale', spec: {replicas}});
  const owners = async () => ownersOf((await get(item)).json()).sort();
  await apply(item, aDeployment('web'), 'fieldManager=owner');

  await patch(`${item}/scale?fieldManager=hand`, {spec: {replicas: 4}});
  t.deepEqual(await owners(), ['owner Apply'], 'a change');
  t.is((await apply(item, aDeployment('web', 3), 'fieldManager=owner')).status, 200, 'no conflict with who scaled');
  await apply(item, aDeployment('web'), 'fieldManager=owner');
  await patch(`${item}/scale`, {spec: {replicas: 4}});

  t.is(
    (await apply(`${item}/scale`, aScale(5))).json<Status>().message,
    'Apply failed with 1 conflict: conflict with "before-first-apply" with subresource "scale" using autoscaling/v1: .spec.replicas',
  );
  await apply(`${item}/scale`, aScale(4));
  const shared = (await get(item)).json();
  t.deepEqual(ownersOf(shared).sort(), ['before-first-apply Update scale', 'me Apply scale', 'owner Apply']);
  t.deepEqual(fieldsOf(shared, 'before-first-apply'), {'f:spec': {'f:replicas': {}}});
  await apply(`${item}/scale`, aScale(5), 'fieldManager=me&force=true');
  t.deepEqual(await owners(), ['me Apply scale', 'owner Apply']);
});

test('zero replicas set through the scale are owned by nobody but who applies them', async t => {
  const {post, apply, patch} = await startApply();
  const item = `${deployments}/web`;
  const scale = async (replicas: number) => {
    await patch(`${item}/scale?fieldManager=hand`, {spec: {replicas}});
    return ownersOf((await patch(item, {})).json()).sort();
  };
  const zero = {apiVersion: 'autoscaling/v1', kind: 'Scale', spec: {replicas: 0}};
  await post(`${deployments}?fieldManager=maker`, aDeployment('web', 3));

  t.deepEqual(await scale(2), ['hand Update scale', 'maker Update']);
  t.deepEqual(await scale(0), ['maker Update']);
  t.deepEqual(await scale(3), ['maker Update']);
  await scale(0);
  t.is((await apply(`${item}/scale`, zero)).status, 200);
  t.deepEqual(await scale(0), ['maker Update', 'me Apply scale']);
  t.deepEqual(await scale(1), ['hand Update scale', 'maker Update']);
});

test('an applied scale needs no name, and what it does not say stays, unless nobody owns it any more', async t => {
  const {post, apply, get} = await startApply();
  const item = `${deployments}/web`;
  const asked = (more: object = {}) =>
    apply(`${item}/scale`, {apiVersion: 'autoscaling/v1', kind: 'Scale', ...more}, 'fieldManager=me&force=true');
  const size = async () => (await get(item)).json<{spec: {replicas?: number}}>().spec.replicas;
  await post(`${deployments}?fieldManager=maker`, aDeployment('web', 3));

  t.like((await asked()).json(), {kind: 'Scale', metadata: {name: 'web', namespace: 'default'}, spec: {replicas: 3}});
  t.is(await size(), 3);
  t.like((await asked({spec: {replicas: 4}})).json(), {spec: {replicas: 4}});
  t.is(await size(), 4);
  t.deepEqual(ownersOf((await get(item)).json()).sort(), ['maker Update', 'me Apply scale']);
  for (const [metadata, message] of [
    [{name: 'other'}, 'the name of the object (other) does not match the name on the URL (web)'],
    [{namespace: 'other'}, 'the namespace of the provided object does not match the namespace sent on the request'],
  ] as const) {
    const refused = (await asked({metadata, spec: {replicas: 5}})).json<Status>();
    t.deepEqual([refused.code, refused.message], [400, message]);
  }
  t.is((await asked({metadata: {resourceVersion: '1'}, spec: {replicas: 5}})).status, 409);
  t.is(await size(), 4);
  t.is((await asked()).status, 200);
  t.is(await size(), 0);
  t.deepEqual(ownersOf((await get(item)).json()), ['maker Update']);
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

test('who takes the times and the reporter from an event owns them, as they are written without a value', async t => {
  const {post, put} = await startWire();
  const events = '/api/v1/namespaces/default/events';
  const at = '2026-01-01T00:00:00Z';
  const event = {metadata: {name: 'e', namespace: 'default'}, involvedObject: {namespace: 'default'}, reason: 'r', message: 'm'};
  await post(`${events}?fieldManager=maker`, {...event, firstTimestamp: at, lastTimestamp: at, reportingComponent: 'c'});
  const bare = (await put(`${events}/e?fieldManager=taker`, event)).json<KubeObject>();

  t.deepEqual(fieldsOf(bare, 'taker'), {'f:firstTimestamp': {}, 'f:lastTimestamp': {}, 'f:reportingComponent': {}});
});
