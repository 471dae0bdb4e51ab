import test from 'ava';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {
  AnyKind,
  defaulting,
  forbidden,
  subresource,
  validating,
  webhookConfigurations,
  type AdmissionOptions,
  type Webhook,
} from '#src/operator/index.js';
import {ConfigMap, Namespace, Pod, Secret, ServiceAccount, type Eviction} from '#src/operator/kinds.js';
import {aPlane} from './webhooks-plane.js';

/** Denies all, with the name of the handler. */
const denying = (name: string, options: AdmissionOptions): Webhook =>
  validating(ConfigMap, () => [forbidden('data', `denied by ${name}`)], {name, ...options});

test('selectors and conditions decide which requests a handler is called for', async t => {
  const handlers = [
    denying('namespace', {namespaceSelector: {matchLabels: {team: 'a'}}}),
    denying('object', {objectSelector: {matchLabels: {size: 'large'}}}),
    denying('condition', {
      matchConditions: [
        {name: 'named', expression: "object.metadata.name == 'chosen'"},
        {name: 'here', expression: "request.namespace == 'default'"},
      ],
    }),
  ];
  const {plane, client, clock, url} = await aPlane(t, handlers, new VirtualClock());
  await plane.apply([
    {apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'team', labels: {team: 'a'}}},
    ...webhookConfigurations({name: 'backups', handlers, url}),
  ]);
  await clock.drain();
  const outcomeOf = (name: string, namespace: string, labels: Record<string, string> = {}) =>
    client
      .resource(ConfigMap)
      .create({metadata: {name, namespace, labels}})
      .then(
        () => 'created',
        (error: Error) => /denied by \w+/.exec(error.message)?.[0] ?? error.message,
      );

  t.is(await outcomeOf('a', 'default'), 'created');
  t.is(await outcomeOf('a', 'team'), 'denied by namespace');
  t.is(await outcomeOf('b', 'default', {size: 'large'}), 'denied by object');
  t.is(await outcomeOf('chosen', 'default'), 'denied by condition');
  t.is(await outcomeOf('chosen', 'kube-system'), 'created');
});

test('an eviction is validated as such, and pods and namespaces of the system are left alone', async t => {
  const seen: unknown[] = [];
  const all = (): readonly ReturnType<typeof forbidden>[] => [forbidden('metadata', 'nothing new')];
  const handlers = [
    validating(
      subresource<Eviction>(Pod, 'eviction'),
      ({object, request}) => {
        seen.push([object!.kind, request.resource, request.subresource]);
        return [forbidden('metadata.name', 'it stays')];
      },
      {operations: ['CREATE']},
    ),
    validating(Pod, all, {operations: ['CREATE'], namespaceSelector: {matchLabels: {closed: 'yes'}}}),
    validating(Pod, all, {
      name: 'named',
      operations: ['CREATE'],
      matchConditions: [{name: 'named', expression: "object.metadata.name == 'b'"}],
    }),
    validating(Namespace, all, {operations: ['CREATE', 'UPDATE', 'DELETE']}),
  ];
  const {plane, client, clock, url} = await aPlane(t, handlers, new VirtualClock());
  await plane.apply(webhookConfigurations({name: 'backups', handlers, url, namespace: 'own'}));
  await clock.drain();
  const pods = client.resource(Pod);
  const pod = (name: string, namespace: string) => ({metadata: {name, namespace}, spec: {containers: [{name: 'a', image: 'a'}]}});

  for (const namespace of ['default', 'kube-system'])
    await client.resource(ServiceAccount).create({metadata: {name: 'default', namespace}});
  await pods.create(pod('a', 'default'));
  const eviction = {apiVersion: 'policy/v1', kind: 'Eviction', metadata: {name: 'a', namespace: 'default'}};
  await t.throwsAsync(client.request('POST', '/api/v1/namespaces/default/pods/a/eviction', {body: eviction}), {
    message: /Eviction\.policy "a" is invalid: metadata\.name: Forbidden: it stays/,
  });
  t.deepEqual(seen, [['Eviction', {group: '', version: 'v1', resource: 'pods'}, 'eviction']]);
  await t.throwsAsync(pods.create(pod('b', 'default')), {message: /nothing new/});
  t.is((await pods.create(pod('b', 'kube-system'))).metadata?.name, 'b');

  const namespaces = client.resource(Namespace);
  await t.throwsAsync(namespaces.create({metadata: {name: 'other'}}), {message: /nothing new/});
  t.is((await namespaces.create({metadata: {name: 'own'}})).metadata?.name, 'own');
  const system = await namespaces.get('kube-system');
  t.is(
    (await namespaces.update({...system, metadata: {...system.metadata, labels: {...system.metadata?.labels, a: 'b'}}})).kind,
    'Namespace',
  );
});

test('a handler of all kinds sees each kind as it is, and a second defaulting is called again', async t => {
  const counts = {first: 0, second: 0};
  const handlers = [
    defaulting(
      ConfigMap,
      config => {
        counts.first++;
        config.data = {...config.data, first: config.data?.['second'] ?? 'alone'};
      },
      {name: 'a', reinvocationPolicy: 'IfNeeded'},
    ),
    defaulting(
      ConfigMap,
      config => {
        counts.second++;
        config.data = {...config.data, second: 'set'};
      },
      {name: 'b'},
    ),
    validating(AnyKind, ({object, request}) => (request.resource.resource === 'secrets' ? [forbidden('data', object!.kind!)] : [])),
  ];
  const {plane, client, clock, url} = await aPlane(t, handlers, new VirtualClock());
  await plane.apply(webhookConfigurations({name: 'backups', handlers, url}));
  await clock.drain();
  const configMaps = client.resource(ConfigMap);
  Object.assign(counts, {first: 0, second: 0});

  const {data} = await configMaps.create({metadata: {name: 'a', namespace: 'default'}});
  t.deepEqual(
    [data, counts],
    [
      {first: 'set', second: 'set'},
      {first: 2, second: 1},
    ],
  );
  await t.throwsAsync(client.resource(Secret).create({metadata: {name: 'a', namespace: 'default'}}), {
    message: /Secret "a" is invalid: data: Forbidden: Secret/,
  });
});
