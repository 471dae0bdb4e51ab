import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {systemClock} from '#src/base/clock.js';
import type {Plane} from '#src/plane/plane.js';
import {list} from '#src/platlet/pod-resources/messages.js';
import {PluginClient} from '#src/platlet/rpc/plugin-client.js';
import {describePod} from '#test/platlet/agent.js';
import {FakeClaimPlugin} from '#test/platlet/dra/fake-claim-plugin.js';
import {startPlaneWithAgent} from './agent-program.js';
import {startContainerd} from './containerd.js';
import {recipes} from './images/index.js';
import {containersMissing} from './requirements.js';
import {untilWithin} from './until.js';

const until = untilWithin(40);

if (containersMissing) console.log(`skipped: ${containersMissing}`);
const contained = containersMissing ? test.skip : test.serial;

const name = 'worker';
const driver = 'gpu.vendor.example';
const at = {namespace: 'default'};

/** Creates a pod with a claim that is allocated, and reserved for it. */
const createPod = async (plane: Plane): Promise<void> => {
  const client = plane.client();
  const claims = client.resource(kinds.resourceClaims);
  const request = {name: 'gpu', exactly: {deviceClassName: 'gpu'}};
  await claims.create({metadata: {name: 'claim', ...at}, spec: {devices: {requests: [request]}}});
  const pod = await client.resource<Pod>(kinds.pods).create({
    metadata: {name: 'user', ...at},
    spec: {
      schedulerName: 'none',
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 1,
      resourceClaims: [{name: 'gpu', resourceClaimName: 'claim'}],
      containers: [{name: 'app', image: recipes.busybox.reference, command: ['sleep', '600'], resources: {claims: [{name: 'gpu'}]}}],
    },
  });
  const results = [{request: 'gpu', driver, pool: 'pool', device: 'dev-claim'}];
  const reservedFor = [{resource: 'pods', name: 'user', uid: pod.metadata!.uid!}];
  await claims.patch('claim', 'merge', {status: {allocation: {devices: {results}}, reservedFor}}, {...at, subresource: 'status'});
  const binding = {apiVersion: 'v1', kind: 'Binding', metadata: {name: 'user', ...at}, target: {kind: 'Node', name}};
  await client.resource(kinds.pods).create(binding as never, {subresource: 'binding', name: 'user'});
};

contained('a pod has a claim of a driver, which is given back when it is gone', async t => {
  await using node = await startContainerd();
  await using cluster = await startPlaneWithAgent(node, {name, port: 19_880});
  const {plane, agent} = cluster;
  const root = join(node.agentFolder, 'root');
  await using plugin = new FakeClaimPlugin(join(root, 'plugins_registry'), driver);
  await using resources = new PluginClient({endpoint: join(root, 'pod-resources', 'kubelet.sock'), clock: systemClock});
  const pods = plane.client().resource(kinds.pods);
  const told = async (): Promise<string> =>
    (await resources.call(list, {})).podResources
      .flatMap(({containers}) => containers.flatMap(({dynamicResources}) => dynamicResources))
      .map(({claimName, claimResources}) => `${claimName} ${claimResources.map(({deviceName}) => deviceName).join()}`)
      .join();
  await agent.ready;
  await plugin.start();
  await until(t, 'the plugin is registered', async () => plugin.answers.includes('registered'));
  await createPod(plane);
  await until(t, 'the pod runs', async () => describePod(await pods.get('user', at)).startsWith('Running'));
  t.is(await told(), 'claim dev-claim');
  await pods.delete('user', at);
  await until(t, 'the pod is gone', async () => (await pods.list(at)).items.length === 0);
  t.deepEqual(plugin.calls, ['prepare claim', 'unprepare claim']);
  t.regex(readFileSync(join(root, 'dra_manager_state'), 'utf8'), /\\"ClaimInfoStateList\\":\[\]/);
});
