import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {systemClock} from '#src/base/clock.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {CriRuntime} from '#src/platlet/cri/runtime.js';
import {containerHash, hashAnnotation} from '#src/platlet/pod/hash.js';
import type {PodConfigs} from '#src/platlet/pod/ports.js';
import {identityLabels} from '#src/platlet/runtime/labels.js';
import {anAgent, createNode, describePod, nodeName, podNamed, podsOf, run, type TimedPlane} from '#test/platlet/agent.js';
import {startContainerd, type Containerd} from './containerd.js';
import {recipes} from './images/index.js';
import {aContainer, aSandbox} from './pods.js';
import {containersMissing} from './requirements.js';
import {untilWithin} from './until.js';

const until = untilWithin(60);

if (containersMissing) console.log(`skipped: ${containersMissing}`);
const contained = containersMissing ? test.skip : test.serial;

let node: Containerd;
let plane: TimedPlane;

test.before(async () => {
  if (containersMissing) return;
  node = await startContainerd();
  const started: Plane = await startPlane({
    naming: 'plat',
    listen: false,
    apiserverArgs: ['--authorization-mode=Node,RBAC', '--enable-admission-plugins=NodeRestriction'],
    controllerManagerArgs: ['--controllers=serviceaccount-controller,deployment-controller,replicaset-controller,job-controller'],
  });
  plane = {...started, clock: systemClock};
  await createNode(plane);
});

test.after.always(async () => {
  if (containersMissing) return;
  await plane.stop();
  await node.stop();
});

/** Configurations with the commands of the pod, and the namespaces and networks of the machine. */
const configs = (): PodConfigs => ({
  resources: () => ({}),
  sandboxUpdate: (_, resources) => ({resources}),
  async sandbox({metadata}, attempt) {
    const {uid = '', name = '', namespace = ''} = metadata ?? {};
    const pod = {uid, name, namespace};
    return {config: aSandbox(node, uid, {pod, attempt, hostname: name, labels: identityLabels(pod)}), handler: ''};
  },
  async container({container, attempt, image, sandbox}) {
    return aContainer(sandbox, '', {
      name: container.name,
      attempt,
      image: {image: image.ref},
      command: container.command ?? [],
      args: container.args ?? [],
      labels: identityLabels(sandbox.pod, container.name),
      annotations: {[hashAnnotation]: containerHash(container)},
      logPath: `${container.name}-${attempt}.log`,
    });
  },
});

const anAgentHere = async () => {
  const runtime = new CriRuntime({endpoint: node.endpoint, requestTimeoutMs: 20_000, clock: systemClock});
  const agent = await anAgent(plane, runtime, {configs: configs(), runtimeName: 'containerd'});
  return {
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]();
      await runtime[Symbol.asyncDispose]();
    },
  };
};

const image = recipes.busybox.reference;
const shell = (name: string, script: string, more: object = {}) => ({name, image, command: ['sh', '-c', script], ...more});
const sleeping = (name: string, more: object = {}) => shell(name, "trap 'exit 0' TERM; while true; do sleep 0.1; done", more);

/** Waits for a pod to be in a state. */
const reached = (t: ExecutionContext, name: string, state: RegExp): Promise<Pod> =>
  until(t, `${name} is ${state}`, async () => {
    const pod = await podNamed(plane, name);
    return state.test(describePod(pod)) && pod;
  });

const gone = (t: ExecutionContext, name: string): Promise<boolean> =>
  until(t, `${name} is gone`, () =>
    podNamed(plane, name).then(
      () => false,
      () => true,
    ),
  );

contained('workloads run in real containers', async t => {
  await using _ = await anAgentHere();
  const client = plane.client();
  const template = (restartPolicy: string, ...containers: object[]) => ({
    metadata: {labels: {app: 'web'}},
    spec: {nodeName, restartPolicy, containers: containers as NonNullable<Pod['spec']>['containers']},
  });
  const metadata = {name: 'web', namespace: 'default'};
  await client.resource(kinds.deployments).create({
    metadata,
    spec: {replicas: 2, selector: {matchLabels: {app: 'web'}}, template: template('Always', sleeping('app'))},
  });
  await client.resource(kinds.jobs).create({metadata, spec: {template: template('Never', shell('app', 'echo done; exit 0'))}});
  await run(plane, 'staged', {
    restartPolicy: 'Never',
    initContainers: [shell('first', 'sleep 0.3'), sleeping('beside', {restartPolicy: 'Always'})],
    containers: [shell('app', 'sleep 0.5; exit 3')],
  });
  await reached(t, 'staged', /^Failed: first Completed\(0\), beside Completed\(0\), app Error\(3\)$/);
  await until(
    t,
    'the job is complete',
    async () => (await client.resource(kinds.jobs).get('web', {namespace: 'default'})).status?.succeeded === 1,
  );
  await until(
    t,
    'the deployment is available',
    async () => (await client.resource(kinds.deployments).get('web', {namespace: 'default'})).status?.availableReplicas === 2,
  );
  // Nothing collects what a Deployment leaves here: without pods to keep it leaves none.
  await client.resource(kinds.deployments).patch('web', 'merge', {spec: {replicas: 0}}, {namespace: 'default'});
  await client.resource(kinds.jobs).delete('web', {namespace: 'default'});
  for (const {metadata: {name = ''} = {}} of (await podsOf(plane).list({namespace: 'default'})).items)
    await podsOf(plane)
      .delete(name, {namespace: 'default'})
      .catch(() => {});
  await until(t, 'all pods are gone', async () => (await podsOf(plane).list({namespace: 'default'})).items.length === 0);
  await until(t, 'nothing is left of them', async () => node.leftovers().filter(text => !text.startsWith('cgroup')).length === 0);
  t.pass();
});

contained('a container whose liveness probe fails is restarted', async t => {
  await using _ = await anAgentHere();
  await run(plane, 'sick', {
    terminationGracePeriodSeconds: 2,
    containers: [
      sleeping('app', {
        livenessProbe: {
          exec: {command: ['sh', '-c', 'test $(cat /proc/uptime | cut -d. -f1) -lt 0']},
          periodSeconds: 1,
          failureThreshold: 2,
        },
      }),
    ],
  });
  const pod = await reached(t, 'sick', /^Running: app (?:ready|running) after 1$/);
  t.truthy(pod.status?.containerStatuses?.[0]?.lastState?.terminated);
  await podsOf(plane).delete('sick', {namespace: 'default'});
  await gone(t, 'sick');
});

contained('containers go on while their agent is away, and are the same when it comes back', async t => {
  const first = await anAgentHere();
  await run(plane, 'steady', {terminationGracePeriodSeconds: 2, containers: [sleeping('app')]});
  const before = await reached(t, 'steady', /^Running: app ready$/);
  await first[Symbol.asyncDispose]();
  await using _ = await anAgentHere();
  await new Promise(resolve => setTimeout(resolve, 2_000));
  const after = await podNamed(plane, 'steady');
  t.deepEqual(after.status?.containerStatuses, before.status?.containerStatuses);
  t.regex(after.status!.containerStatuses![0]!.containerID!, /^containerd:\/\/[0-9a-f]{64}$/);
  await podsOf(plane).delete('steady', {namespace: 'default'});
  await gone(t, 'steady');
});

contained('a pod has its own log folder, with the log of each run', async t => {
  await using _ = await anAgentHere();
  const {metadata: {uid = ''} = {}} = await run(plane, 'talking', {restartPolicy: 'Never', containers: [shell('app', 'echo said')]});
  await reached(t, 'talking', /^Succeeded: app Completed\(0\)$/);
  t.regex(readFileSync(join(node.agentFolder, 'logs', uid, 'app-0.log'), 'utf8'), /^\S+ stdout F said\n$/);
});
