import {existsSync, mkdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {availableParallelism} from 'node:os';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import type {Pod} from '#src/api/pod.js';
import {systemClock} from '#src/base/clock.js';
import {list} from '#src/platlet/pod-resources/messages.js';
import {PluginClient} from '#src/platlet/rpc/plugin-client.js';
import {createLog} from '#src/observe/log.js';
import {FakeDevicePlugin} from '#test/platlet/device-manager/fake-device-plugin.js';
import {runAgent, standaloneFlags} from './agent-program.js';
import {startContainerd} from './containerd.js';
import {recipes} from './images/index.js';
import {containersMissing} from './requirements.js';

if (containersMissing) console.log(`skipped: ${containersMissing}`);
const contained = containersMissing ? test.skip : test.serial;

const port = 19565;
const pods = async (): Promise<readonly Pod[]> =>
  ((await (await fetch(`http://127.0.0.1:${port}/pods`)).json()) as {readonly items: readonly Pod[]}).items;

const until = async (t: ExecutionContext, what: string, isSo: () => boolean | Promise<boolean>): Promise<void> => {
  const end = Date.now() + 20_000;
  while (!(await isSo())) {
    if (Date.now() > end) return t.fail(`waited in vain until ${what}: ${JSON.stringify(await pods())}`);
    await new Promise(resolve => setTimeout(resolve, 50));
  }
};

const manifest = (name: string, spec: object): string => JSON.stringify({apiVersion: 'v1', kind: 'Pod', metadata: {name}, spec});

contained('an agent without an API server runs the pods of its files', async t => {
  await using node = await startContainerd();
  const manifests = join(node.agentFolder, 'manifests');
  mkdirSync(manifests);
  const app = {name: 'app', image: recipes.busybox.reference, command: ['sh', '-c', 'exec sleep 600'], env: [{name: 'A', value: 'b'}]};
  writeFileSync(join(manifests, 'plain.json'), manifest('plain', {terminationGracePeriodSeconds: 0, containers: [app]}));
  writeFileSync(
    join(manifests, 'mapped.json'),
    manifest('mapped', {
      containers: [{...app, volumeMounts: [{name: 'v', mountPath: '/v'}]}],
      volumes: [{name: 'v', configMap: {name: 'c'}}],
    }),
  );
  const lines: string[] = [];
  await using agent = runAgent(
    [
      ...standaloneFlags(node, manifests),
      '--feature-gates=PreventStaticPodAPIReferences=false',
      '--port=19560',
      `--read-only-port=${port}`,
      '--healthz-port=19558',
    ],
    createLog({clock: systemClock, program: 'platlet', write: line => void lines.push(line)}),
  );
  t.regex(await agent.ready, /^node alone at work without an API server \(kubernetes naming\)/);
  const plain = async () => (await pods()).find(({metadata}) => metadata?.name === 'plain-alone');
  await until(t, 'the pod runs', async () => (await plain())?.status?.containerStatuses?.[0]?.ready === true);
  const text = "couldn't get configMap default/c, no kubeClient defined";
  await until(t, 'the volume is refused', () => lines.some(line => line.includes('FailedMount') && line.includes(text)));
  rmSync(join(manifests, 'plain.json'));
  await until(t, 'the pod is gone', async () => (await plain()) === undefined);
  t.is((await fetch('http://127.0.0.1:19558/healthz')).status, 200);
  t.false(lines.some(line => line.startsWith('E') && line.includes('lease')));
});

contained('whole CPUs of Guaranteed pods are exclusive, and the others of the node share the rest', async t => {
  await using node = await startContainerd();
  const [manifests, out] = [join(node.agentFolder, 'manifests'), join(node.agentFolder, 'out')];
  mkdirSync(manifests);
  mkdirSync(out);
  const add = (name: string, resources: object): void => {
    const command = ['sh', '-c', `while true; do grep Cpus_allowed_list /proc/self/status > /out/${name}; sleep 0.1; done`];
    const container = {name: 'app', image: recipes.busybox.reference, command, resources, volumeMounts: [{name: 'out', mountPath: '/out'}]};
    const volumes = [{name: 'out', hostPath: {path: out}}];
    writeFileSync(join(manifests, `${name}.json`), manifest(name, {terminationGracePeriodSeconds: 0, containers: [container], volumes}));
  };
  const all = availableParallelism() - 1;
  const exclusive = {limits: {cpu: String(all), memory: '20Mi'}};
  await using agent = runAgent([
    ...standaloneFlags(node, manifests),
    `--port=19560`,
    `--read-only-port=${port}`,
    '--healthz-port=19558',
    '--cpu-manager-policy=static',
    '--cpu-manager-reconcile-period=200ms',
    '--reserved-cpus=0',
  ]);
  await agent.ready;
  const cpusOf = (name: string): string | undefined => {
    const file = join(out, name);
    return existsSync(file) ? /:\s*(\S+)/.exec(readFileSync(file, 'utf8'))?.[1] : undefined;
  };
  add('shared', {});
  await until(t, 'the first pod has all CPUs', () => cpusOf('shared') === `0-${all}`);
  add('exclusive', exclusive);
  await until(t, 'the next one has its own', () => cpusOf('exclusive') === (all === 1 ? '1' : `1-${all}`));
  await until(t, 'the first one has lost them', () => cpusOf('shared') === '0');
  add('refused', exclusive);
  const refused = async () => (await pods()).find(({metadata}) => metadata?.name === 'refused-alone')?.status;
  await until(t, 'a third one is refused', async () => (await refused())?.reason === 'UnexpectedAdmissionError');
  rmSync(join(manifests, 'exclusive.json'));
  await until(t, 'the CPUs are shared again', () => cpusOf('shared') === `0-${all}`);
  const state = (): {readonly defaultCpuSet: string} =>
    JSON.parse(readFileSync(join(node.agentFolder, 'root', 'cpu_manager_state'), 'utf8')) as {readonly defaultCpuSet: string};
  await until(t, 'the state is written', () => state().defaultCpuSet === `0-${all}`);
  t.like(state(), {policyName: 'static', entries: undefined});
});

contained('a container gets the devices that it requests from their plugin', async t => {
  await using node = await startContainerd();
  const [manifests, out] = [join(node.agentFolder, 'manifests'), join(node.agentFolder, 'out')];
  mkdirSync(manifests);
  mkdirSync(out);
  const folder = join(node.agentFolder, 'root', 'device-plugins');
  await using agent = runAgent([...standaloneFlags(node, manifests), '--port=19560', `--read-only-port=${port}`, '--healthz-port=0']);
  await agent.ready;
  await until(t, 'plugins may register', () => existsSync(join(folder, 'kubelet.sock')));
  const plugin = new FakeDevicePlugin(join(folder, 'gpu.sock'), [['zero'], ['one']]);
  plugin.allocation = ids => ({
    envs: {GPU: ids.join()},
    devices: [{hostPath: '/dev/null', containerPath: '/dev/gpu0', permissions: 'rw'}],
    annotations: {'vendor.example/gpu': 'yes'},
  });
  await using _ = await plugin.listen();
  await plugin.register(join(folder, 'kubelet.sock'), systemClock, 'vendor.example/gpu');
  const command = ['sh', '-c', 'echo "$GPU $(ls -l /dev/gpu0 | cut -c 1)" > /out/seen; exec sleep 600'];
  const resources = {limits: {'vendor.example/gpu': '1'}};
  const app = {name: 'app', image: recipes.busybox.reference, command, resources, volumeMounts: [{name: 'out', mountPath: '/out'}]};
  const volumes = [{name: 'out', hostPath: {path: out}}];
  writeFileSync(join(manifests, 'gpu.json'), manifest('gpu', {terminationGracePeriodSeconds: 0, containers: [app], volumes}));

  await until(t, 'the container has looked', () => existsSync(join(out, 'seen')) && readFileSync(join(out, 'seen'), 'utf8') !== '');
  t.is(readFileSync(join(out, 'seen'), 'utf8'), 'one c\n');
  t.deepEqual(plugin.calls, ['allocate one']);
  await using client = new PluginClient({endpoint: join(node.agentFolder, 'root', 'pod-resources', 'kubelet.sock'), clock: systemClock});
  t.like((await client.call(list, {})).podResources[0]?.containers[0], {name: 'app', devices: [{deviceIds: ['one']}]});
  rmSync(join(manifests, 'gpu.json'));
  await until(t, 'the pod is gone', async () => (await pods()).length === 0);
});
