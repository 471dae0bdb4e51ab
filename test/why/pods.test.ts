import test from 'ava';
import {aPod, kinds, Situations} from './situations.js';

const at = await Situations.start(['pod-garbage-collector-controller', 'node-lifecycle-controller'], {nodes: 1});
test.after.always(() => at[Symbol.asyncDispose]());

const [seconds, minutes] = [1_000, 60_000];

test.serial('a pod whose image does not exist waits for the image', async t => {
  await at.create(kinds.pods, aPod('pull', {containers: [{name: 'app', image: 'example.com/web:404'}]}));

  t.deepEqual(await at.answer(kinds.pods, 'pull', 30 * seconds), [
    'Pod default/pull is blocked: the image example.com/web:404 of its container app cannot be pulled: failed to pull and unpack image "example.com/web:404": failed to resolve reference "example.com/web:404": example.com/web:404: not found.',
    'An image of this name in the registry, or the credentials for it (imagePullSecrets); the agent tries again, at most five minutes later.',
  ]);
});

test.serial('a container waits for the secret that its environment names', async t => {
  const env = [{name: 'TOKEN', valueFrom: {secretKeyRef: {name: 'keys', key: 'token'}}}];
  await at.create(kinds.pods, aPod('secret', {containers: [{name: 'app', image: 'nginx', env}]}));

  t.deepEqual(await at.answer(kinds.pods, 'secret', 10 * seconds), [
    'Pod default/secret is blocked: its container app cannot be created: secret "keys" not found.',
    'The creation of the secret keys in the namespace default.',
  ]);
});

test.serial('a container waits for the key of a config map', async t => {
  await at.create(kinds.configMaps, {metadata: {name: 'settings'}, data: {other: ''}});
  const env = [{name: 'LEVEL', valueFrom: {configMapKeyRef: {name: 'settings', key: 'level'}}}];
  await at.create(kinds.pods, aPod('key', {containers: [{name: 'app', image: 'nginx', env}]}));

  t.deepEqual(await at.answer(kinds.pods, 'key', 10 * seconds), [
    "Pod default/key is blocked: its container app cannot be created: couldn't find key level in ConfigMap default/settings.",
    'The key level in the object that the message names.',
  ]);
});

test.serial('a pod waits for the config map of its volume', async t => {
  await at.create(kinds.pods, aPod('volume', {volumes: [{name: 'files', configMap: {name: 'none'}}]}));

  t.deepEqual(await at.answer(kinds.pods, 'volume', 10 * seconds), [
    'Pod default/volume is blocked: its volume files cannot be mounted: configmap "none" not found.',
    'The creation of the config map none in the namespace default.',
  ]);
});

test.serial('a container that ends again and again is named with its code and the time of its next start', async t => {
  await at.create(kinds.pods, aPod('crash', {behavior: '{runFor: 1s, exitCode: 3}'}));

  t.deepEqual(await at.answer(kinds.pods, 'crash', 50 * seconds), [
    'Pod default/crash is blocked: its container app ends again and again, the last time with code 3 (Error), and has restarted 3 times.',
    'A program that keeps running: kubectl logs crash -n default -c app --previous. The agent starts it again at 2026-01-01T00:02:15Z.',
  ]);
});

test.serial('a container that uses too much memory is named with its limit', async t => {
  const containers = [{name: 'app', image: 'nginx', resources: {limits: {memory: '64Mi'}}}];
  await at.create(kinds.pods, aPod('memory', {behavior: '{runFor: 1s, exitCode: 137, exitReason: OOMKilled}', containers}));

  t.deepEqual(await at.answer(kinds.pods, 'memory', 20 * seconds), [
    'Pod default/memory is blocked: its container app is killed, as it uses more memory than its limit of 64Mi (OOMKilled), and has restarted twice.',
    'A higher limit of memory, or a program that uses less. The agent starts it again at 2026-01-01T00:02:24Z.',
  ]);
});

test.serial('a pod waits for its init containers in their order', async t => {
  const initContainers = [
    {name: 'first', image: 'busybox', command: ['true']},
    {name: 'second', image: 'busybox', command: ['sleep', 'infinity']},
  ];
  await at.create(kinds.pods, aPod('init', {initContainers}));

  t.deepEqual(await at.answer(kinds.pods, 'init', 20 * seconds), [
    'Pod default/init is blocked: its init container second runs, and the others start after it has ended.',
    'The end of the init container second with code 0: kubectl logs init -n default -c second.',
  ]);
});

test.serial('an init container that fails holds up its pod', async t => {
  await at.create(kinds.pods, aPod('init-fails', {initContainers: [{name: 'setup', image: 'busybox', command: ['exit', '3']}]}));

  t.deepEqual(await at.answer(kinds.pods, 'init-fails', 20 * seconds), [
    'Pod default/init-fails is blocked: its init container setup ends again and again, the last time with code 3 (Error), and has restarted twice.',
    'A program that ends with code 0: kubectl logs init-fails -n default -c setup --previous. The agent starts it again at 2026-01-01T00:03:01Z.',
  ]);
});

const httpGet = {path: '/healthz', port: 8080};

test.serial('a pod that is not ready waits for its readiness probe', async t => {
  await at.create(
    kinds.pods,
    aPod('unready', {behavior: '{readyAfter: never}', containers: [{name: 'app', image: 'nginx', readinessProbe: {httpGet}}]}),
  );

  t.deepEqual(await at.answer(kinds.pods, 'unready', minutes), [
    'Pod default/unready is blocked: its container app runs and is not ready, as its readiness probe has not succeeded.',
    'A program that answers the probe, or another readinessProbe.',
  ]);
});

test.serial('a container that has not started waits for its startup probe', async t => {
  await at.create(
    kinds.pods,
    aPod('unstarted', {
      behavior: '{startedAfter: never}',
      containers: [{name: 'app', image: 'nginx', startupProbe: {httpGet, failureThreshold: 1000}}],
    }),
  );

  t.deepEqual(await at.answer(kinds.pods, 'unstarted', minutes), [
    'Pod default/unstarted is blocked: its container app runs and has not started, as its startup probe has not succeeded.',
    'A program that answers the probe, or another startupProbe.',
  ]);
});

test.serial('a pod waits for its readiness gate', async t => {
  await at.create(kinds.pods, aPod('gate', {readinessGates: [{conditionType: 'example.com/balanced'}]}));

  t.deepEqual(await at.answer(kinds.pods, 'gate', 10 * seconds), [
    'Pod default/gate is blocked: its containers are ready, and its readiness gate example.com/balanced has no condition.',
    'The condition example.com/balanced in its status, which a controller of its own sets.',
  ]);
});

test.serial('a pod that has failed does not run again', async t => {
  await at.create(kinds.pods, aPod('failed', {restartPolicy: 'Never', behavior: '{runFor: 1s, exitCode: 2}'}));

  t.deepEqual(await at.answer(kinds.pods, 'failed', 10 * seconds), [
    'Pod default/failed is blocked: it has failed and does not run again: the container app ended with code 2 (Error).',
    'A new pod: its owner makes one, if it has an owner that does.',
  ]);
});

test.serial('a pod that is being deleted has its grace period', async t => {
  await at.create(kinds.pods, aPod('grace', {behavior: '{stopAfter: 1h}', terminationGracePeriodSeconds: 600}));
  await at.plane.clock.advance(10 * seconds);
  await at.delete(kinds.pods, 'grace');

  t.deepEqual(await at.answer(kinds.pods, 'grace', 10 * seconds), [
    'Pod default/grace is blocked: it is being deleted, and its containers have until 2026-01-01T00:15:20Z to end.',
    'The end of its containers; at 2026-01-01T00:15:20Z they are killed.',
  ]);
});

test.serial('a pod that is being deleted waits for the one who set its finalizer', async t => {
  const pod = aPod('kept');
  await at.client
    .resource(kinds.pods)
    .create(
      {...pod, metadata: {...pod.metadata, namespace: 'default', finalizers: ['example.com/backup']}},
      {fieldManager: 'backup-operator'},
    );
  await at.plane.clock.advance(10 * seconds);
  await at.delete(kinds.pods, 'kept');

  t.deepEqual(await at.answer(kinds.pods, 'kept', minutes), [
    'Pod default/kept is blocked: it is being deleted, and the finalizer example.com/backup keeps it: whoever set it (the field manager backup-operator) has to remove it.',
    'Its controller removes the finalizer once it has cleaned up: see that it runs. Without it nothing is cleaned up: kubectl patch pods kept -n default --type=merge -p \'{"metadata":{"finalizers":null}}\'.',
  ]);
});

test.serial('a pod that runs waits for nothing, and neither does one that has succeeded', async t => {
  await at.create(kinds.pods, aPod('runs'), aPod('done', {restartPolicy: 'Never', behavior: '{runFor: 1s}'}));

  t.deepEqual(await at.answer(kinds.pods, 'runs', 10 * seconds), [
    'Pod default/runs waits for nothing: its container is ready on the node plat-node-0 since 2026-01-01T00:06:40Z.',
    undefined,
  ]);
  t.deepEqual(await at.answer(kinds.pods, 'done'), [
    'Pod default/done waits for nothing: all its containers have ended with code 0.',
    undefined,
  ]);
});

test.serial('pods of a node that is off wait for the node', async t => {
  await at.create(kinds.pods, aPod('silent'));
  await at.plane.clock.advance(10 * seconds);
  await at.patch(kinds.nodes, 'plat-node-0', {metadata: {annotations: {'simulation.kubernetes.io/state': 'not-ready'}}});

  t.deepEqual(await at.answer(kinds.pods, 'silent', minutes), [
    'Pod default/silent is blocked by Node plat-node-0: its agent reports that it is not ready: KubeletNotReady: container runtime is down.',
    'What the agent of plat-node-0 lacks.',
  ]);
  t.deepEqual(await at.lines(kinds.pods, 'silent'), [
    'Pod default/silent is blocked by Node plat-node-0: its agent reports that it is not ready: KubeletNotReady: container runtime is down.',
    '',
    'Pod default/silent: its node plat-node-0 is not ready, so that nothing is known of its containers',
    '    rule node-not-ready, since 2026-01-01T00:07:00Z (60s)',
    '  └ Node plat-node-0: its agent reports that it is not ready: KubeletNotReady: container runtime is down',
    '      rule node-not-ready, since 2026-01-01T00:07:00Z (60s)',
    '',
    'What ends it: What the agent of plat-node-0 lacks.',
  ]);
});

test.serial('what a message has for the terminal is escaped', async t => {
  await at.create(kinds.pods, aPod('escapes', {schedulerName: 'other'}));
  const conditions = [{type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'none fits\u001b[2J\u202e\nPod is fine'}];
  await at.patch(kinds.pods, 'escapes', {status: {conditions}}, {subresource: 'status'});

  const text = (await at.lines(kinds.pods, 'escapes')).join('|');

  t.true(text.includes(String.raw`none fits\x1b[2J\u{202e} Pod is fine`), text);
  t.false(/[\p{C}]/u.test(text));
});
