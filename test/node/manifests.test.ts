// The manifests of the service proxy and the DNS server, on a node that has neither.

import {execFileSync} from 'node:child_process';
import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {aDirectory} from '#test/cli/programs.js';
import {hasKubectl} from '#test/e2e/kubectl.js';
import {startContainerd} from './containerd.js';
import {recipes} from './images/index.js';
import {servicesMissing} from './requirements.js';
import {untilWithin} from './until.js';
import {upWithin} from './up-within.js';

const missing =
  servicesMissing ??
  (process.env['PLAT_TEST_BUNDLES'] ? undefined : 'an image is made of bundles that are as new as the tests (make test)');
if (missing) console.log(`skipped: ${missing}`);
const contained = missing || !hasKubectl(23) ? test.skip : test.serial;
const until = untilWithin(60);

/** The objects of a base, with the image of this test. */
const manifest = (base: string): string => {
  const text = execFileSync('kubectl', ['kustomize', join('manifests', base)], {encoding: 'utf8'})
    .replaceAll(/image: plat(-proxy)?$/gm, `image: ${recipes.plat.reference}`)
    // The size of the table of connections is that of the machine, to which this node does not belong.
    .replace(/^( +)mode: nftables$/m, '$&\n$1conntrack: {maxPerCore: 0}');
  const file = join(aDirectory(), `${base}.yaml`);
  writeFileSync(file, text);
  return file;
};

const endless = "trap 'exit 0' TERM; while true; do sleep 0.1; done";

contained('the service proxy and the DNS server of the manifests serve a cluster', async t => {
  await using node = await startContainerd({images: ['busybox', 'plat']});
  const dns = ['--agent-arg=--cluster-dns=10.96.0.10', '--agent-arg=--cluster-domain=cluster.local'];
  await using plane = await upWithin(t, node, ['--services=false', ...dns]);
  const {kubectl} = plane;
  const system = '--namespace=kube-system';
  const [host, port] = (
    await kubectl('get', 'endpointslices', 'kubernetes', '-o', 'jsonpath={.endpoints[0].addresses[0]} {.ports[0].port}')
  ).split(' ');

  const rolledOut = async (workload: string): Promise<void> => {
    try {
      await kubectl('rollout', 'status', system, workload, '--timeout=60s');
    } catch (error) {
      t.log(await kubectl('describe', 'pods', system), await kubectl('logs', system, workload, '--tail=50').catch(String));
      throw error;
    }
  };

  await kubectl('apply', '--server-side', '-f', manifest('proxy'));
  await kubectl('set', 'env', system, 'daemonset/plat-proxy', `KUBERNETES_SERVICE_HOST=${host}`, `KUBERNETES_SERVICE_PORT=${port}`);
  await rolledOut('daemonset/plat-proxy');
  // The DNS server reaches the API server by its service.
  await kubectl('apply', '--server-side', '-f', manifest('dns'));
  await rolledOut('deployment/plat-dns');

  const image = `--image=${recipes.busybox.reference}`;
  const serving = `mkdir /www; echo hello > /www/index.html; httpd -p 80 -h /www; ${endless}`;
  await kubectl('run', 'web', image, '--port=80', '--expose', '--', 'sh', '-c', serving);
  await kubectl('run', 'client', image, '--', 'sh', '-c', endless);
  await kubectl('wait', '--for=condition=Ready', 'pod/web', 'pod/client', '--timeout=60s');
  const fetched = (): Promise<string> =>
    kubectl('exec', 'client', '--', 'timeout', '5', 'wget', '-qO-', 'http://web').then(
      text => text.trim(),
      () => '',
    );
  await until(t, 'the service answers by its name', async () => (await fetched()) === 'hello');
  t.is(await fetched(), 'hello');
});
