import test from 'ava';
import type {Pod} from '#src/api/pod.js';
import {problems, refusal} from './environment.js';
import {aPod, here, start, withContainer} from './pods.js';

test('an update may change images and deadlines and add tolerations, and nothing else', async t => {
  const {pods} = await start();
  const made = await pods.create(aPod());
  const spec = made.spec!;
  const updated = await pods.update({
    ...made,
    spec: {
      ...spec,
      containers: [{...spec.containers[0]!, image: 'nginx:2'}],
      activeDeadlineSeconds: 10,
      tolerations: [{key: 'a', operator: 'Exists'}],
    },
  });

  t.is(updated.metadata?.generation, 2);
  t.is(updated.spec?.containers[0]?.image, 'nginx:2');
  const [refusedText] = await problems(pods.update({...updated, spec: {...updated.spec!, hostname: 'h'}}));
  t.is(
    (refusedText ?? '').replace(/.*\n@@/, '@@'),
    '@@ -64,7 +64,7 @@\n   "SELinuxChangePolicy": null\n  },\n  "ImagePullSecrets": null,\n- "Hostname": "",\n+ "Hostname": "h",\n  "Subdomain": "",\n  "SetHostnameAsFQDN": null,\n  "Affinity": null,\n',
  );
  t.deepEqual(await problems(pods.update({...updated, spec: {...updated.spec!, activeDeadlineSeconds: 20}})), [
    'spec.activeDeadlineSeconds: Invalid value: 20: must be less than or equal to previous value',
  ]);
  t.deepEqual(await problems(pods.update({...updated, spec: {...updated.spec!, tolerations: []}})), [
    'spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds',
  ]);
  t.deepEqual(
    await problems(pods.update({...updated, spec: {...updated.spec!, containers: [...updated.spec!.containers, {name: 'd', image: 'x'}]}})),
    ['spec.containers: Forbidden: pod updates may not add or remove containers'],
  );
});

test("the status is the node's to write, except the quality class, and a terminal phase is final", async t => {
  const {pods} = await start();
  const made = await pods.create(aPod({restartPolicy: 'Never'}));
  const status = {subresource: 'status'};
  const ended = {name: 'c', image: 'nginx', imageID: '', ready: false, restartCount: 0, state: {terminated: {exitCode: 0}}};
  const reported = await pods.update(
    {...made, spec: {containers: []}, status: {phase: 'Succeeded', podIP: '10.0.0.1', containerStatuses: [ended]}},
    status,
  );

  t.is(reported.spec?.containers.length, 1);
  t.is(reported.metadata?.generation, 1);
  t.deepEqual(reported.status?.podIPs, [{ip: '10.0.0.1'}]);
  t.is(reported.status?.qosClass, 'BestEffort');
  t.deepEqual(
    await problems(
      pods.update(
        {...reported, status: {...reported.status, qosClass: 'Burstable', containerStatuses: [{...ended, state: {running: {}}}]}},
        status,
      ),
    ),
    [
      'status.qosClass: Invalid value: "Burstable": field is immutable',
      'status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state',
    ],
  );
});

test('ephemeral containers are added through their subresource, and stay', async t => {
  const {pods} = await start();
  const made = await pods.create(aPod());
  const address = {subresource: 'ephemeralcontainers'};
  const added = await pods.update(
    {...made, spec: {containers: [], ephemeralContainers: [{name: 'look', image: 'busybox:1', targetContainerName: 'c'}]}},
    address,
  );

  t.is(added.spec?.containers.length, 1);
  t.is(added.metadata?.generation, 2);
  t.is(added.spec?.ephemeralContainers?.[0]?.imagePullPolicy, 'IfNotPresent');
  t.deepEqual(await problems(pods.update({...added, spec: {...added.spec!, ephemeralContainers: []}}, address)), [
    'spec.ephemeralContainers: Forbidden: existing ephemeral containers "look" may not be removed\n',
  ]);
  t.deepEqual(
    await problems(
      pods.update(
        {
          ...added,
          spec: {
            ...added.spec!,
            ephemeralContainers: [...added.spec!.ephemeralContainers!, {name: 'c', image: 'x', ports: [{containerPort: 1}]}],
          },
        },
        address,
      ),
    ),
    [
      'spec.ephemeralContainers[1].name: Duplicate value: "c"',
      'spec.ephemeralContainers[1].ports: Forbidden: cannot be set for an Ephemeral Container',
    ],
  );
});

test('a resize changes amounts and nothing else', async t => {
  const {pods} = await start();
  const made = await pods.create(withContainer({resources: {requests: {cpu: '1'}}}));
  const address = {subresource: 'resize'};
  const [container] = made.spec!.containers;
  const to = (resources: object, more: object = {}): Pod => ({
    ...made,
    spec: {...made.spec!, containers: [{...container!, ...more, resources}]},
  });
  const resized = await pods.update(
    {...to({requests: {cpu: '2'}}, {image: 'other'}), metadata: {name: 'p', namespace: 'default'}},
    address,
  );

  t.is(resized.spec?.containers[0]?.image, 'nginx');
  t.deepEqual(resized.spec?.containers[0]?.resources, {requests: {cpu: '2'}});
  t.is(resized.metadata?.generation, 2);
  const unversioned = {metadata: {name: 'p', namespace: 'default'}};
  t.deepEqual(await problems(pods.update({...to({}), ...unversioned}, address)), [
    'spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing',
    'spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed',
  ]);
  t.deepEqual(
    await problems(
      pods.update({...to({requests: {cpu: '2', 'example.com/gpu': '1'}, limits: {'example.com/gpu': '1'}}), ...unversioned}, address),
    ),
    ['spec: Forbidden: only cpu and memory resources are mutable'],
  );
});

test('a pod on a node is given its time to end, which can only be shortened', async t => {
  const {pods, clock} = await start();
  const made = await pods.create(aPod({nodeName: 'n'}));
  const at = (seconds: number): string => new Date(clock.now() + seconds * 1000).toISOString().replace(/\.\d+Z/, 'Z');
  const ending = (await pods.delete('p', here)) as Pod;

  t.is(ending.metadata?.deletionGracePeriodSeconds, 30);
  t.is(ending.metadata?.deletionTimestamp, at(30));
  t.is(ending.metadata?.generation, 2);
  const again = (await pods.delete('p', {...here, gracePeriodSeconds: 60})) as Pod;
  t.is(again.metadata?.deletionGracePeriodSeconds, 30);
  const sooner = (await pods.delete('p', {...here, gracePeriodSeconds: 5})) as Pod;
  t.is(sooner.metadata?.deletionTimestamp, at(5));
  t.is(sooner.metadata?.generation, 2);
  t.is((await refusal(pods.delete('p', {...here, gracePeriodSeconds: 0, preconditions: {uid: 'other'}}))).code, 409);
  const gone = (await pods.delete('p', {...here, gracePeriodSeconds: 0, preconditions: {uid: made.metadata!.uid!}})) as Pod;
  t.is(gone.kind, 'Pod');
  t.is((await refusal(pods.get('p', here))).code, 404);
});

for (const [what, spec, phase] of [
  ['no node runs', {}, 'Pending'],
  ['is over', {nodeName: 'n'}, 'Succeeded'],
] as const) {
  test(`a pod that ${what} is deleted at once`, async t => {
    const {pods} = await start();
    const made = await pods.create(aPod(spec));
    await pods.update({...made, status: {...made.status, phase}}, {subresource: 'status'});
    const gone = (await pods.delete('p', here)) as Pod;

    t.is(gone.metadata?.deletionGracePeriodSeconds, 0);
    t.is((await refusal(pods.get('p', here))).code, 404);
  });
}

test('a finalizer keeps a pod that has no time left', async t => {
  const {pods} = await start();
  const made = await pods.create(aPod({}, {finalizers: ['example.com/hold']}));
  const held = (await pods.delete('p', here)) as Pod;
  t.is(held.metadata?.deletionGracePeriodSeconds, 0);

  await pods.update({...made, metadata: {...held.metadata!, finalizers: []}, spec: held.spec!});
  t.is((await refusal(pods.get('p', here))).code, 404);
});
