// The rules of the mode iptables beside those of the original's program, for the same services of the same plane.

import test from 'ava';
import {eventually} from '#test/cli/eventually.js';
import {Machine, nodeIp, originalProgram} from './machine.js';
import {kernelMissing} from './world.js';

const missing = kernelMissing ?? (originalProgram === undefined ? "the original's program is not on the path" : undefined);

const service = (name: string, spec: string): string =>
  `apiVersion: v1\nkind: Service\nmetadata: {name: ${name}, namespace: default}\nspec: ${spec}\n`;
const slice = (name: string, endpoints: string, ports: string): string =>
  `apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: ${name}-1, namespace: default, labels: {kubernetes.io/service-name: ${name}}}\naddressType: IPv4\nendpoints: [${endpoints}]\nports: ${ports}\n`;

const here = (last: number): string => `{addresses: [10.244.0.${last}], nodeName: n1}`;
const there = (last: number): string => `{addresses: [10.244.1.${last}], nodeName: n2}`;
const port = '[{name: "", port: 8080}]';

const objects = [
  `apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {addresses: [{type: InternalIP, address: ${nodeIp}}]}\n`,
  service(
    's1',
    '{type: NodePort, clusterIP: 10.96.0.51, externalIPs: [192.168.99.1], ports: [{port: 80, name: w, nodePort: 30001}, {port: 53, name: u, protocol: UDP, nodePort: 30002}]}',
  ),
  slice('s1', `${here(2)}, ${there(2)}, ${there(3)}`, '[{name: w, port: 8080}, {name: u, port: 5300, protocol: UDP}]'),
  service(
    's2',
    '{type: LoadBalancer, clusterIP: 10.96.0.52, externalIPs: [192.168.99.2], externalTrafficPolicy: Local, healthCheckNodePort: 30004, ports: [{port: 80, nodePort: 30003}]}',
  ),
  slice('s2', `${here(2)}, ${there(2)}`, port),
  service('s3', '{type: NodePort, clusterIP: 10.96.0.53, ports: [{port: 80, nodePort: 30005}]}'),
  service('s4', '{clusterIP: 10.96.0.54, internalTrafficPolicy: Local, sessionAffinity: ClientIP, ports: [{port: 80}]}'),
  slice('s4', `${here(2)}, ${here(3)}, ${there(2)}`, port),
  service(
    's5',
    '{type: NodePort, clusterIP: 10.96.0.55, externalTrafficPolicy: Local, internalTrafficPolicy: Local, ports: [{port: 80, nodePort: 30006}]}',
  ),
  slice('s5', there(2), port),
].join('---\n');

/** The rules and chains of proxies, without what counts packets. */
const rulesIn = async (machine: Machine): Promise<readonly string[]> => {
  const saved = [await machine.rules('iptables-save'), await machine.rules('ip6tables-save')].join('\n');
  return saved
    .split('\n')
    .filter(line => line.includes('KUBE-') && !line.includes('-d 127.0.0.0/8 -p'))
    .map(line => line.replace(/ \[\d+:\d+\]/, '').replace(/ -m nfacct --nfacct-name +\w+/, ''))
    .sort();
};

if (missing !== undefined) test(`the rules of iptables are not compared: ${missing}`, t => t.pass());
else
  test('the rules of the mode iptables are those of the original', async t => {
    t.timeout(120_000);
    await using machine = await Machine.create(objects);
    const flags = ['--proxy-mode=iptables', '--cluster-cidr=10.244.0.0/16', '--conntrack-max-per-core=0'];
    const isWhole = (rules: readonly string[]): boolean =>
      ['s1:u cluster IP', 's2 external IP', 's4 cluster IP', 's5 has no local endpoints'].every(text =>
        rules.some(rule => rule.includes(text)),
      ) &&
      rules.filter(rule => rule.includes('KUBE-PROXY-CANARY')).length === 6 &&
      // Of both families.
      rules.filter(rule => rule.includes('must be the last rule')).length === 2;
    const complete = () =>
      eventually(async () => {
        const rules = await rulesIn(machine);
        return isWhole(rules) ? rules : undefined;
      });
    const original = machine.original(...flags);
    const expected = await complete();
    await original.stop();
    const cleaning = machine.proxy('--cleanup');
    t.is(await cleaning.ended, 0, cleaning.output);
    t.false((await rulesIn(machine)).some(rule => rule.includes('KUBE-SERVICES')));
    const ours = machine.proxy(...flags);

    t.deepEqual(await complete(), expected);
    t.is(await ours.stop(), 0);
  });
