import {existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {weightOf} from '#src/platlet/cgroups/numbers.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {describePod} from '#test/platlet/agent.js';
import {agentFlags, nodeSettings, runAgent, type AgentProgram} from './agent-program.js';
import {cgroupsAt} from './cgroups.js';
import {startContainerd, type Containerd} from './containerd.js';
import {recipes} from './images/index.js';
import {containersMissing} from './requirements.js';
import {run} from './run.js';
import {untilWithin} from './until.js';

const until = untilWithin(30);

if (containersMissing) console.log(`skipped: ${containersMissing}`);
const contained = containersMissing ? test.skip : test.serial;

let node: Containerd;
let plane: Plane;
let agent: AgentProgram;
let directory: string;

const name = 'worker';

test.before(async () => {
  if (containersMissing) return;
  node = await startContainerd();
  directory = mkdtempSync(join(tmpdir(), 'plat-agent-'));
  plane = await startPlane({
    naming: 'kubernetes',
    dataDir: directory,
    bootstrapTokens: true,
    apiserverArgs: ['--platlet-preferred-address-types=InternalIP'],
    controllers: [
      'serviceaccount-controller',
      'deployment-controller',
      'replicaset-controller',
      'root-ca-certificate-publisher-controller',
    ],
  });
  agent = runAgent(await flags());
  await agent.ready;
});

const flags = async (): Promise<readonly string[]> => {
  const settings = await nodeSettings(plane, directory, node.agentFolder, name);
  return [...agentFlags(node, {name, settings, port: 19250, healthPort: 19248}), '--read-only-port=19255'];
};

test.after.always(async () => {
  if (containersMissing) return;
  await agent?.[Symbol.asyncDispose]();
  await plane?.stop();
  await node?.stop();
  rmSync(directory, {recursive: true, force: true});
});

const image = recipes.busybox.reference;
const pods = () => plane.client().resource(kinds.pods);

const reached = (t: ExecutionContext, pod: string, state: RegExp): Promise<Pod> => {
  let last = '';
  return until(t, `${pod} is ${state}, and not ${last}`, async () => {
    const found = await pods().get(pod, {namespace: 'default'});
    last = describePod(found);
    return state.test(last) && found;
  });
};

contained('a node registers and runs a pod', async t => {
  const ready = await until(t, 'the node is ready', async () => {
    const found = await plane
      .client()
      .resource(kinds.nodes)
      .get(name)
      .catch(() => undefined);
    return found?.status?.conditions?.some(({type, status}) => type === 'Ready' && status === 'True') && found;
  });
  t.is(ready.status?.nodeInfo?.containerRuntimeVersion?.split('://')[0], 'containerd');
  await pods().create({
    metadata: {name: 'hello', namespace: 'default'},
    spec: {
      restartPolicy: 'Never',
      nodeName: name,
      automountServiceAccountToken: false,
      containers: [{name: 'app', image, command: ['sh', '-c', 'echo hello; echo more >&2; exit 3']}],
    },
  });
  await reached(t, 'hello', /^Failed: app Error\(3\)$/);
  const log = await run('kubectl', '--kubeconfig', kubeconfig(), 'logs', 'hello');
  // The two outputs are pipes of their own, so their lines may come in either order.
  t.deepEqual(log.split('\n').sort(), ['', 'hello', 'more']);
});

contained('an agent whose port is in use names the flags to change', async t => {
  const second = runAgent([...(await flags()), `--root-dir=${join(node.agentFolder, 'second')}`]);
  await t.throwsAsync(second.ready, {
    message: 'cannot listen on 0.0.0.0:19250 (--address and --port): the port is in use already: choose another, or 0 for a free one',
  });
});

const kubeconfig = (): string => join(directory, 'kubeconfig');
const kubectl = (...args: readonly string[]): Promise<string> => run('kubectl', '--kubeconfig', kubeconfig(), ...args);
const exits = async (...args: readonly string[]): Promise<number> => {
  try {
    await kubectl(...args);
    return 0;
  } catch (error) {
    return (error as {code: number}).code;
  }
};

const serving = `
  mkdir -p /www; echo page > /www/index.html; httpd -p 8080 -h /www
  trap 'exit 0' TERM
  n=0; while true; do n=$((n+1)); echo "line $n"; sleep 0.1; done`;

contained('kubectl reads logs, runs commands and copies files', async t => {
  await pods().create({
    metadata: {name: 'web', namespace: 'default'},
    spec: {
      nodeName: name,
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 2,
      containers: [{name: 'app', image, command: ['sh', '-c', serving]}],
    },
  });
  await reached(t, 'web', /^Running: app ready$/);
  // A log that grows may have more lines than were asked for by the time that they are read.
  t.regex(await kubectl('logs', 'hello', '--tail=1'), /^(hello|more)\n$/);
  t.is(await kubectl('logs', 'web', '--limit-bytes=6'), 'line 1');
  t.regex(await kubectl('logs', 'hello', '--timestamps', '--tail=1'), /^\d{4}-\d\d-\d\dT[\d:]+\.\d{9}Z \w+\n$/);
  t.is(await kubectl('exec', 'web', '--', 'echo', 'hi'), 'hi\n');
  t.is(await exits('exec', 'web', '--', 'sh', '-c', 'exit 7'), 7);
  const file = join(directory, 'file');
  writeFileSync(file, 'copied');
  await kubectl('cp', file, 'web:/tmp/file');
  t.is(await kubectl('exec', 'web', '--', 'cat', '/tmp/file'), 'copied');
});

/** What the files of a group say of cpu and memory: requests of cpu as shares or weight, limits. */
const limitsIn = (group: string): string => {
  const read = (...paths: readonly string[]): string => {
    const path = paths.map(each => join('/sys/fs/cgroup', each)).find(each => existsSync(each));
    return path === undefined ? '' : readFileSync(path, 'utf8').trim().split(' ')[0]!;
  };
  const file = (controller: string, v1: string, v2: string): string => read(join(controller, group, v1), join(group, v2));
  const cpu = [file('cpu', 'cpu.shares', 'cpu.weight'), file('cpu', 'cpu.cfs_quota_us', 'cpu.max')];
  return [...cpu, file('memory', 'memory.limit_in_bytes', 'memory.max')].join(' ');
};

contained('a pod is resized in its groups, up and down, and with a restart', async t => {
  const resources = (cpu: string, memory: string) => ({requests: {cpu, memory}, limits: {cpu, memory}});
  const command = ['sh', '-c', "trap 'exit 0' TERM; while true; do sleep 0.1; done"];
  const created = await pods().create({
    metadata: {name: 'sized', namespace: 'default'},
    spec: {
      nodeName: name,
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: 'app',
          image,
          command,
          resources: resources('100m', '64Mi'),
          resizePolicy: [
            {resourceName: 'cpu', restartPolicy: 'NotRequired'},
            {resourceName: 'memory', restartPolicy: 'RestartContainer'},
          ],
        },
        {name: 'live', image, command, resources: resources('100m', '64Mi')},
      ],
    },
  });
  const group = join(node.cgroup, 'kubepods', `pod${created.metadata!.uid}`);
  const shown = async (): Promise<string[]> => {
    const {status} = await pods().get('sized', {namespace: 'default'});
    const isResizing = status?.conditions?.some(({type}) => type.startsWith('PodResize'));
    const ofContainers = (status?.containerStatuses ?? []).map(({name: of, restartCount, resources: own, containerID = '', ready}) => {
      const limits = limitsIn(join(group, containerID.split('//')[1] ?? 'none'));
      return `${of} ${ready ? restartCount : 'starting'}: ${own?.limits?.['cpu']} ${own?.limits?.['memory']}, ${limits}`;
    });
    return [...(isResizing ? ['resizing'] : []), `pod: ${limitsIn(group)}`, ...ofContainers];
  };
  const reachedSizes = async (...expected: readonly string[]): Promise<void> => {
    let last: readonly string[] = [];
    await until(t, `${expected.join('; ')} is reached`, async () => {
      last = await shown();
      return last.join() === expected.join();
    }).catch(() => t.deepEqual(last, expected));
  };
  const patch = (of: string, cpu: string, memory: string): Promise<Pod> =>
    pods().patch(
      'sized',
      'strategic',
      {spec: {containers: [{name: of, resources: resources(cpu, memory)}]}},
      {
        namespace: 'default',
        subresource: 'resize',
      },
    );
  const isUnified = existsSync('/sys/fs/cgroup/cgroup.controllers');
  const limits = (shares: number, quota: number, mebibytes: number): string =>
    `${isUnified ? weightOf(shares) : shares} ${quota} ${mebibytes * 2 ** 20}`;
  await reachedSizes(
    `pod: ${limits(204, 20000, 128)}`,
    `app 0: 100m 64Mi, ${limits(102, 10000, 64)}`,
    `live 0: 100m 64Mi, ${limits(102, 10000, 64)}`,
  );
  await patch('live', '200m', '128Mi');
  await reachedSizes(
    `pod: ${limits(307, 30000, 192)}`,
    `app 0: 100m 64Mi, ${limits(102, 10000, 64)}`,
    `live 0: 200m 128Mi, ${limits(204, 20000, 128)}`,
  );
  await patch('live', '50m', '32Mi');
  await reachedSizes(
    `pod: ${limits(153, 15000, 96)}`,
    `app 0: 100m 64Mi, ${limits(102, 10000, 64)}`,
    `live 0: 50m 32Mi, ${limits(51, 5000, 32)}`,
  );
  await patch('app', '200m', '64Mi');
  await reachedSizes(
    `pod: ${limits(256, 25000, 96)}`,
    `app 0: 200m 64Mi, ${limits(204, 20000, 64)}`,
    `live 0: 50m 32Mi, ${limits(51, 5000, 32)}`,
  );
  await patch('app', '200m', '96Mi');
  await reachedSizes(
    `pod: ${limits(256, 25000, 128)}`,
    `app 1: 200m 96Mi, ${limits(204, 20000, 96)}`,
    `live 0: 50m 32Mi, ${limits(51, 5000, 32)}`,
  );
  await pods().delete('sized', {namespace: 'default'});
  await until(
    t,
    'the pod is gone',
    async () => !(await pods().list({namespace: 'default'})).items.some(({metadata}) => metadata?.name === 'sized'),
  );
  t.deepEqual(cgroupsAt(group), []);
});
