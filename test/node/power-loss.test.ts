import {readdirSync} from 'node:fs';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {aDirectory} from '#test/cli/programs.js';
import {nodeSettings} from './agent-program.js';
import {startAgentWithin, type AgentWithin} from './agent-within.js';
import {startContainerd, type Containerd} from './containerd.js';
import {recipes} from './images/index.js';
import {containersMissing} from './requirements.js';
import {untilWithin} from './until.js';

const until = untilWithin(30);

if (containersMissing) console.log(`skipped: ${containersMissing}`);
const contained = containersMissing ? test.skip : test.serial;

interface Machine {
  readonly name: string;
  readonly node: Containerd;
  readonly agent: AgentWithin;
}

/**
 * Starts a plane on an address that other machines reach, with controllers that notice the loss of a node within
 * seconds.
 */
const aPlaneAt = (bindAddress: string, dataDir: string): Promise<Plane> =>
  startPlane({
    naming: 'kubernetes',
    dataDir,
    bindAddress,
    apiserverArgs: ['--authorization-mode=Node,RBAC', '--enable-admission-plugins=NodeRestriction'],
    controllers: [
      'serviceaccount-controller',
      'root-ca-certificate-publisher-controller',
      'deployment-controller',
      'replicaset-controller',
      'node-lifecycle-controller',
      'taint-eviction-controller',
    ],
    controllerManagerArgs: ['--node-monitor-period=500ms', '--node-monitor-grace-period=4s'],
  });

const aMachine = async (plane: Plane, directory: string, name: string, node: Containerd): Promise<Machine> => {
  const settings = await nodeSettings(plane, directory, node.agentFolder, name);
  const agent = await startAgentWithin(node, name, settings, {nodeLeaseDurationSeconds: 4});
  return {name, node, agent};
};

const podsOf = async (plane: Plane): Promise<readonly Pod[]> =>
  (await plane.client().resource(kinds.pods).list({namespace: 'default'})).items;

const nodeOf = (plane: Plane, name: string) =>
  plane
    .client()
    .resource(kinds.nodes)
    .get(name)
    .catch(() => undefined);

/** Waits until the Ready condition of a node is so, and until the taints that follow from it are. */
const readiness = (t: ExecutionContext, plane: Plane, name: string, wanted: string) =>
  until(t, `the readiness of ${name} is ${wanted}`, async () => {
    const node = await nodeOf(plane, name);
    const isTainted = (node?.spec?.taints?.length ?? 0) > 0;
    const isSo = node?.status?.conditions?.some(({type, status}) => type === 'Ready' && status === wanted);
    return isSo && isTainted === (wanted !== 'True') && node;
  });

/** Waits until a pod of an application is ready on a node. */
const readyOn = (t: ExecutionContext, plane: Plane, app: string, node: string): Promise<Pod> =>
  until(t, `${app} is ready on ${node}`, async () =>
    (await podsOf(plane)).find(
      ({metadata, spec, status}) =>
        metadata?.labels?.['app'] === app && spec?.nodeName === node && status?.containerStatuses?.[0]?.ready === true,
    ),
  );

/** A deployment of one pod, at best on a node, that leaves an unreachable node after a second. */
const deployment = (app: string, node: string) => ({
  metadata: {name: app, namespace: 'default'},
  spec: {
    replicas: 1,
    selector: {matchLabels: {app}},
    template: {
      metadata: {labels: {app}},
      spec: {
        terminationGracePeriodSeconds: 1,
        tolerations: ['unreachable', 'not-ready'].map(key => ({
          key: `node.kubernetes.io/${key}`,
          operator: 'Exists',
          effect: 'NoExecute',
          tolerationSeconds: 1,
        })),
        affinity: {
          nodeAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              {weight: 100, preference: {matchExpressions: [{key: 'kubernetes.io/hostname', operator: 'In', values: [node]}]}},
            ],
          },
        },
        containers: [{name: 'app', image: recipes.busybox.reference, command: ['sleep', '600']}],
      },
    },
  },
});

const containerOf = ({status}: Pod) => {
  const {containerID, restartCount} = status!.containerStatuses![0]!;
  return [containerID, restartCount];
};

contained('the pods of a node that loses its power run on another one', async t => {
  await using other = await startContainerd();
  await using node = await startContainerd();
  const directory = aDirectory();
  const plane = await aPlaneAt(other.network.host, directory);
  const deployments = plane.client().resource(kinds.deployments);
  try {
    const [one, two] = await Promise.all([aMachine(plane, directory, 'one', node), aMachine(plane, directory, 'two', other)]);
    await Promise.all([one, two].map(({name}) => readiness(t, plane, name, 'True'))).catch((error: unknown) => {
      t.log(one.agent.output(), two.agent.output());
      throw error;
    });
    for (const [app, name] of [
      ['moving', 'one'],
      ['staying', 'two'],
    ] as const)
      await deployments.create(deployment(app, name));
    const [moving, staying] = await Promise.all([readyOn(t, plane, 'moving', 'one'), readyOn(t, plane, 'staying', 'two')]);

    await node.powerOff();
    t.deepEqual(node.namespaces.processes(), []);
    const off = Date.now();

    const {status} = await readiness(t, plane, 'one', 'Unknown');
    t.log(`unknown after ${Date.now() - off} ms`);
    t.is(status?.conditions?.find(({type}) => type === 'Ready')?.reason, 'NodeStatusUnknown');
    const moved = await readyOn(t, plane, 'moving', 'two');
    t.log(`runs elsewhere after ${Date.now() - off} ms`);

    t.true((await nodeOf(plane, 'one'))?.spec?.taints?.some(({key}) => key === 'node.kubernetes.io/unreachable'));
    t.not(moved.metadata?.uid, moving.metadata?.uid);
    const lost = (await podsOf(plane)).find(({metadata}) => metadata?.uid === moving.metadata?.uid);
    t.truthy(lost?.metadata?.deletionTimestamp);
    t.like(
      lost?.status?.conditions?.find(({type}) => type === 'DisruptionTarget'),
      {status: 'True', reason: 'DeletionByTaintManager'},
    );
    t.deepEqual(containerOf(await readyOn(t, plane, 'staying', 'two')), containerOf(staying));

    await leavesNothing(t, plane, two);
  } finally {
    await plane.stop();
  }
});

/** Takes all pods away, and checks that nothing is left on the node once its agent has stopped. */
const leavesNothing = async (t: ExecutionContext, plane: Plane, {node, agent}: Machine): Promise<void> => {
  const deployments = plane.client().resource(kinds.deployments);
  for (const app of ['moving', 'staying']) await deployments.patch(app, 'merge', {spec: {replicas: 0}}, {namespace: 'default'});
  // The agent that would let the lost pod go has gone itself.
  for (const {metadata, spec} of await podsOf(plane))
    if (spec?.nodeName === 'one')
      await plane.client().resource(kinds.pods).delete(metadata!.name!, {namespace: 'default', gracePeriodSeconds: 0});
  await until(t, 'the pods are gone', async () => (await podsOf(plane)).length === 0);
  await until(t, 'their folders are gone', async () => readdirSync(join(node.agentFolder, 'root/pods')).length === 0);
  t.is(await agent.stop(), 0, agent.output());
  // The groups of the classes of pods stay.
  t.deepEqual(
    node.leftovers().filter(line => !/^cgroup .*\/kubepods(\/(burstable|besteffort))?$/.test(line)),
    [],
  );
};
