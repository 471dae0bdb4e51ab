import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {blocksOf, play} from '#test/docs/console.js';
import {hasKubectl} from '#test/e2e/kubectl.js';
import {startContainerd, type Containerd} from './containerd.js';
import {Registry} from './registry.js';
import {containersMissing, servicesMissing} from './requirements.js';

if (containersMissing) console.log(`skipped: ${containersMissing}`);
const contained = containersMissing || !hasKubectl(23) ? test.skip : test.serial;

/** A node that pulls busybox from a registry of this machine, in place of that in the image's name. */
const startNode = async (t: ExecutionContext): Promise<Containerd> => {
  const node = await startContainerd({images: []});
  // After the programs of the tour have been stopped, of which one has a file open in the folder.
  t.teardown(() => node[Symbol.asyncDispose]());
  const registry = await Registry.start({address: node.network.host});
  t.teardown(() => registry[Symbol.asyncDispose]());
  registry.add('library/busybox', 'latest', 'busybox');
  node.addRegistry('docker.io', registry.url);
  return node;
};

const agentFlags = (node: Containerd): readonly string[] => {
  const flags = {
    'hostname-override': 'here',
    'container-runtime-endpoint': node.endpoint,
    'root-dir': join(node.agentFolder, 'root'),
    'cgroup-root': node.cgroup,
    port: '19750',
    'healthz-port': '19748',
    'make-iptables-util-chains': 'false',
  };
  return Object.entries(flags).map(([flag, value]) => `--agent-arg=--${flag}=${value}`);
};

contained('the commands of docs/nodes.md with real containers print the output it shows', async t => {
  const node = await startNode(t);
  const blocks = blocksOf('docs/nodes.md', {of: 'Pods in real containers'});
  t.true(blocks.length > 0);
  // The plane is in the network of this machine, where the test changes nothing.
  await play(t, blocks, {planeFlags: ['--services=false', ...agentFlags(node)]});
});

(servicesMissing ? test.skip : contained)('the commands of the README with real containers print the output it shows', async t => {
  const node = await startNode(t);
  const blocks = blocksOf('README.md', {of: 'Real containers'});
  t.true(blocks.length > 0);
  const ranges = `--controller-manager-arg=--cluster-cidr=${node.network.pods}`;
  await play(t, blocks, {
    planeFlags: [ranges, ...agentFlags(node)],
    enter: ['nsenter', `--net=/proc/${node.namespaces.pid}/ns/net`],
  });
});
