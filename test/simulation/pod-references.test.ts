import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {aPlaneWithNodes, eventsOf, podNamed, podsOf, run, describePod} from './environment.js';

test('invalid behavior is reported, and ignored', async t => {
  await using plane = await aPlaneWithNodes();
  await run(plane, {behavior: '{runfor: 1s}'});
  await plane.clock.advance(60_000);

  t.is(describePod(await podNamed(plane)), 'Running: app ready');
  const complaints = (await eventsOf(plane, 'pod')).filter(text => text.startsWith('InvalidBehavior'));
  t.is(complaints.length, 1);
  t.regex(
    complaints[0]!,
    /^InvalidBehavior: annotation simulation\.plat\.io\/behavior: unknown field "runfor"; there are match, startAfter, /,
  );
});

const annotation = {name: 'A', valueFrom: {fieldRef: {fieldPath: "metadata.annotations['path']"}}};
for (const [subPathExpr, env, why] of [
  [
    '$(A)/$(B)',
    [
      {name: 'A', value: '/tmp'},
      {name: 'B', value: 'b'},
    ],
    'error SubPath `/tmp/b` must not be an absolute path',
  ],
  [
    'x/$(A)',
    [
      {name: 'B', value: '..'},
      {name: 'A', value: '$(B)/y'},
    ],
    "unable to provision SubPath `x/../y`: must not contain '..'",
  ],
  ['$(C)/$(A)', [annotation], 'missing value for A, C'],
  ['$(A)/$$(B)', [{name: 'A', value: 'a'}], undefined],
  ['$(A)', [{name: 'A', valueFrom: {fieldRef: {fieldPath: 'status.hostIP'}}}], undefined],
  ['$(WEB_SERVICE_HOST)', [], undefined],
] as const) {
  test(`a part of a volume named by ${subPathExpr} of ${JSON.stringify(env)} is ${why ?? 'mounted'}`, async t => {
    await using plane = await aPlaneWithNodes();
    const volumeMounts = [{name: 'work', mountPath: '/work', subPathExpr}];
    await run(plane, {volumes: [{name: 'work', emptyDir: {}}], containers: [{name: 'app', image: 'nginx', env: [...env], volumeMounts}]});
    await plane.clock.advance(1_000);

    t.is(describePod(await podNamed(plane)), why ? 'Pending: app CreateContainerConfigError' : 'Running: app ready');
    t.is((await podNamed(plane)).status?.containerStatuses?.[0]?.state?.waiting?.message, why);
  });
}

test('a pod whose environment names no part of a volume runs once it does', async t => {
  await using plane = await aPlaneWithNodes();
  const volumeMounts = [{name: 'work', mountPath: '/work', subPathExpr: '$(A)'}];
  await run(plane, {volumes: [{name: 'work', emptyDir: {}}], containers: [{name: 'app', image: 'nginx', env: [annotation], volumeMounts}]});
  await plane.clock.advance(1_000);
  t.is(describePod(await podNamed(plane)), 'Pending: app CreateContainerConfigError');

  await plane
    .client()
    .resource(kinds.pods)
    .patch('pod', 'merge', {metadata: {annotations: {path: 'here'}}}, {namespace: 'default'});
  await plane.clock.advance(6_000);
  t.is(describePod(await podNamed(plane)), 'Running: app ready');
});

test('objects that a pod refers to must exist before it runs', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  const key = {name: 'settings', key: 'level'};
  await run(plane, {name: 'mounts', volumes: [{name: 'files', secret: {secretName: 'keys', items: [{key: 'tls', path: 'tls'}]}}]});
  await run(plane, {
    name: 'reads',
    containers: [
      {name: 'app', image: 'nginx', env: [{name: 'LEVEL', valueFrom: {configMapKeyRef: key}}]},
      {name: 'other', image: 'nginx'},
    ],
  });
  await run(plane, {name: 'may', containers: [{name: 'app', image: 'nginx', envFrom: [{secretRef: {name: 'none', optional: true}}]}]});
  await clock.advance(1_000);
  t.is(describePod(await podNamed(plane, 'mounts')), 'Pending: app ContainerCreating');
  t.deepEqual(await eventsOf(plane, 'mounts'), ['FailedMount: MountVolume.SetUp failed for volume "files" : secret "keys" not found']);
  t.is(describePod(await podNamed(plane, 'reads')), 'Pending: app CreateContainerConfigError, other ready');
  t.is((await podNamed(plane, 'reads')).status?.containerStatuses?.[0]?.state?.waiting?.message, 'configmap "settings" not found');
  t.is(describePod(await podNamed(plane, 'may')), 'Running: app ready');

  const client = plane.client();
  await client.resource(kinds.secrets).create({metadata: {name: 'keys', namespace: 'default'}, data: {}});
  await client.resource(kinds.configMaps).create({metadata: {name: 'settings', namespace: 'default'}, data: {}});
  await clock.advance(6_000);
  t.true(
    (await eventsOf(plane, 'mounts')).includes(
      'FailedMount: MountVolume.SetUp failed for volume "files" : references non-existent secret key: tls',
    ),
  );
  t.is((await eventsOf(plane, 'reads')).at(-1), "Failed: Error: couldn't find key level in ConfigMap default/settings");

  await client.resource(kinds.secrets).patch('keys', 'merge', {data: {tls: ''}}, {namespace: 'default'});
  await client.resource(kinds.configMaps).patch('settings', 'merge', {data: {level: '1'}}, {namespace: 'default'});
  await clock.advance(6_000);
  t.deepEqual(
    [describePod(await podNamed(plane, 'mounts')), describePod(await podNamed(plane, 'reads'))],
    ['Running: app ready', 'Running: app ready, other ready'],
  );
});

test('what an ephemeral container refers to must exist before it runs, also if the pod has just been checked', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  const add = (name: string, secret: string) =>
    podsOf(plane).patch(
      'pod',
      'strategic',
      {spec: {ephemeralContainers: [{name, image: 'busybox', envFrom: [{secretRef: {name: secret}}]}]}},
      {namespace: 'default', subresource: 'ephemeralcontainers'},
    );
  await plane
    .client()
    .resource(kinds.secrets)
    .create({metadata: {name: 'there', namespace: 'default'}, data: {}});
  await run(plane, {containers: [{name: 'app', image: 'nginx', envFrom: [{secretRef: {name: 'there'}}]}]});
  await clock.advance(1_000);
  await add('look', 'there');
  await add('see', 'later');
  await clock.advance(1_000);
  t.is(describePod(await podNamed(plane)), 'Running: app ready, look running, see CreateContainerConfigError');

  await plane
    .client()
    .resource(kinds.secrets)
    .create({metadata: {name: 'later', namespace: 'default'}, data: {}});
  await clock.advance(6_000);

  t.is(describePod(await podNamed(plane)), 'Running: app ready, look running, see running');
});
