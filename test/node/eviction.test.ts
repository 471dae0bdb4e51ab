import {mkdirSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import type {Plane} from '#src/plane/plane.js';
import {describePod} from '#test/platlet/agent.js';
import {startPlaneWithAgent} from './agent-program.js';
import {startContainerd} from './containerd.js';
import {recipes} from './images/index.js';
import {containersMissing} from './requirements.js';
import {run} from './run.js';
import {untilWithin} from './until.js';

const until = untilWithin(40);

if (containersMissing) console.log(`skipped: ${containersMissing}`);
const contained = containersMissing ? test.skip : test.serial;

const name = 'worker';
const Mi = 1 << 20;

const pods = (plane: Plane) => plane.client().resource(kinds.pods);

const create = (plane: Plane, pod: string, kilobytes: number, sizeLimit?: string): Promise<Pod> =>
  pods(plane).create({
    metadata: {name: pod, namespace: 'default'},
    spec: {
      nodeName: name,
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 1,
      volumes: [{name: 'scratch', emptyDir: sizeLimit ? {sizeLimit} : {}}],
      containers: [
        {
          name: 'app',
          image: recipes.busybox.reference,
          command: ['sh', '-c', `dd if=/dev/zero of=/scratch/file bs=1024 count=${kilobytes}; exec sleep 600`],
          volumeMounts: [{name: 'scratch', mountPath: '/scratch'}],
        },
      ],
    },
  });

const reached = (t: ExecutionContext, plane: Plane, pod: string, state: RegExp): Promise<Pod> => {
  let last = '';
  return until(t, `${pod} is ${state}, and not ${last}`, async () => {
    const found = await pods(plane).get(pod, {namespace: 'default'});
    last = describePod(found);
    return state.test(last) && found;
  });
};

const hasDiskPressure = (t: ExecutionContext, plane: Plane, expected: string): Promise<unknown> =>
  until(t, `the node has DiskPressure ${expected}`, async () => {
    const {status} = await plane.client().resource(kinds.nodes).get(name);
    return status?.conditions?.find(({type}) => type === 'DiskPressure')?.status === expected;
  });

contained('pods are evicted that exceed their limit, and one when the disk fills up', async t => {
  await using node = await startContainerd();
  const root = join(node.agentFolder, 'root');
  mkdirSync(root);
  await run('mount', '-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', root);
  await using cluster = await startPlaneWithAgent(node, {name, port: 19_850}, [
    '--eviction-hard=nodefs.available<16Mi,memory.available<1Mi',
    '--kernel-memcg-notification',
    '--eviction-pressure-transition-period=1s',
    '--volume-stats-agg-period=500ms',
    '--node-status-update-frequency=1s',
  ]);
  const {plane, agent} = cluster;
  await agent.ready;
  await create(plane, 'limited', 3 * 1024, '1Mi');
  await create(plane, 'writer', 20 * 1024);
  await create(plane, 'modest', 1024);
  for (const pod of ['writer', 'modest']) await reached(t, plane, pod, /^Running/);
  const limited = await reached(t, plane, 'limited', /^Failed Evicted/);
  t.is(limited.status?.message, 'Usage of EmptyDir volume "scratch" exceeds the limit "1Mi". ');

  const filler = join(root, 'filler');
  writeFileSync(filler, Buffer.alloc(36 * Mi));
  const writer = await reached(t, plane, 'writer', /^Failed Evicted/);
  t.regex(writer.status?.message ?? '', /^The node was low on resource: ephemeral-storage. Threshold quantity: 16Mi, available: \S+\. /);
  await hasDiskPressure(t, plane, 'True');
  rmSync(filler);
  await hasDiskPressure(t, plane, 'False');
  t.is((await pods(plane).get('modest', {namespace: 'default'})).status?.phase, 'Running');
});
