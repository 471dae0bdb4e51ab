import {join} from 'node:path';
import test from 'ava';
import {blocksOf, play} from '#test/docs/console.js';
import {hasKubectl} from '#test/e2e/kubectl.js';
import {startContainerd} from './containerd.js';
import {Registry} from './registry.js';
import {containersMissing} from './requirements.js';

if (containersMissing) console.log(`skipped: ${containersMissing}`);
const contained = containersMissing || !hasKubectl(23) ? test.skip : test;

contained('the commands of docs/nodes.md with real containers print the output it shows', async t => {
  const node = await startContainerd();
  // After the programs of the tour have been stopped, of which one has a file open in the folder.
  t.teardown(() => node[Symbol.asyncDispose]());
  await using registry = await Registry.start({address: node.network.host});
  registry.add('library/busybox', 'latest', 'busybox');
  node.addRegistry('docker.io', registry.url);
  const flags = {
    'hostname-override': 'here',
    'container-runtime-endpoint': node.endpoint,
    'root-dir': join(node.agentFolder, 'root'),
    'cgroup-root': node.cgroup,
    port: '19750',
    'healthz-port': '19748',
    'make-iptables-util-chains': 'false',
  };
  const blocks = blocksOf('docs/nodes.md', {of: 'Pods in real containers'});
  t.true(blocks.length > 0);
  await play(
    t,
    blocks,
    // The plane is in the network of this machine, where the test changes nothing.
    ['--services=false', ...Object.entries(flags).map(([flag, value]) => `--agent-arg=--${flag}=${value}`)],
  );
});
