import anyTest, {type TestFn} from 'ava';
import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {Machine, nodeIp} from './machine.js';
import {kernelMissing} from './world.js';

const test = (kernelMissing === undefined ? anyTest : anyTest.skip) as TestFn;
if (kernelMissing !== undefined) anyTest(`the program of the proxy is not tried: ${kernelMissing}`, t => t.pass());

const objects = `
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {addresses: [{type: InternalIP, address: ${nodeIp}}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec: {clusterIP: 10.96.0.50, ports: [{port: 80, name: http}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: default, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
endpoints: [{addresses: [${nodeIp}]}]
ports: [{name: http, port: 8080}]
`;

const config = (mode: string): string => `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: ${mode}
conntrack: {maxPerCore: 0}
clusterCIDR: 10.244.0.0/16
`;

test('the program routes services in both modes, and a cleanup leaves nothing', async t => {
  await using machine = await Machine.create(objects);
  const file = join(machine.folder, 'config.yaml');
  const configuration = (mode: string) =>
    writeFileSync(file, `${config(mode)}clientConnection: {kubeconfig: ${machine.folder}/plane/kubeconfig}\n`);
  for (const [mode, other] of [
    ['nftables', 'iptables'],
    ['iptables', 'nftables'],
  ] as const) {
    configuration(mode);
    const proxy = machine.proxy(`--config=${file}`, '-v=2');
    await proxy.until(new RegExp(`^ready: routing services of node n1 by ${mode}`, 'm'));
    await proxy.until(/the sync of the rules has ended[^\n]*"IPv4"/);

    t.deepEqual(await machine.get('http://10.96.0.50/'), [200, 'hello']);
    t.deepEqual(await machine.get('http://127.0.0.1:10249/proxyMode'), [200, mode]);
    const [status, body] = await machine.get('http://127.0.0.1:10256/healthz');
    t.is(status, 200);
    t.like(JSON.parse(body), {nodeEligible: true, healthy: true});
    t.true((await machine.get('http://127.0.0.1:10249/configz'))[1].includes(`"Mode":"${mode}"`));
    t.true((await machine.get('http://127.0.0.1:10249/metrics'))[1].includes('kubeproxy_sync_proxy_rules_last_timestamp_seconds{'));
    t.is((await machine.rules('nft', 'list', 'tables')).includes('kube-proxy'), mode === 'nftables');
    t.is((await machine.rules('iptables-save')).includes('KUBE-SERVICES'), mode === 'iptables');

    if (mode === 'nftables') {
      // The rules stay, and connections with them.
      t.is(await proxy.stop(), 0);
      t.deepEqual(await machine.get('http://10.96.0.50/'), [200, 'hello']);
    } else {
      configuration(other);
      t.is(await proxy.ended, 1);
      t.true(proxy.output.endsWith("plat-proxy: content of the proxy server's configuration file was updated\n"), proxy.output);
    }
  }
  const cleaning = machine.proxy('--cleanup');
  t.is(await cleaning.ended, 0, cleaning.output);
  t.false((await machine.rules('nft', 'list', 'tables')).includes('kube-proxy'));
  t.false(/KUBE-(?!FIREWALL)/.test(await machine.rules('iptables-save')));
});

test('a port that is taken ends the program if it is told so', async t => {
  await using machine = await Machine.create(objects);
  const args = ['--conntrack-max-per-core=0', '--bind-address-hard-fail', `--metrics-bind-address=${nodeIp}:8080`];
  const proxy = machine.proxy(...args, '--proxy-mode=nftables');

  t.is(await proxy.ended, 1);
  t.regex(proxy.output, new RegExp(`plat-proxy: cannot listen on ${nodeIp}:8080 \\(--metrics-bind-address\\): the port is in use already`));
});
