import test from 'ava';
import {noLog} from '#src/base/log.js';
import {counterMetrics, counterNames, noCounters, openCounters} from '#src/proxy/iptables/packet-counters.js';
import type {Command, Finished} from '#src/proxy/kernel/kernel.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {recordingLog} from '#test/runtime/environment.js';
import {FakeIptablesProxy} from './iptables-proxy.js';
import {local, port, service, slice} from './objects.js';

/** A kernel with counters, as the program shows them. */
class FakeCounters {
  readonly packets = new Map<string, number>();
  readonly refused = new Set<string>();
  isInstalled = true;

  async run({program, args: [operation, name = '']}: Command): Promise<Finished> {
    if (!this.isInstalled) throw Object.assign(new Error(`spawn ${program} ENOENT`), {code: 'ENOENT'});
    const finished = (exitCode: number, stdout = '', stderr = ''): Finished => ({exitCode, stdout, stderr});
    if (operation === 'list') {
      const counters = [...this.packets].map(([counter, pkts]) => ({pkts, bytes: 60 * pkts, name: counter}));
      return finished(0, counters.length === 0 ? '' : JSON.stringify({timestamp: 1, nfacct_counters: counters}));
    }
    if (this.packets.has(name) || this.refused.has(name)) return finished(1, '', 'nfacct v1.0.2: error: Device or resource busy');
    this.packets.set(name, 0);
    return finished(0);
  }
}

test('counters are created once, and read by their names', async t => {
  const kernel = new FakeCounters();
  const counters = await openCounters(kernel, noLog);
  t.deepEqual([...kernel.packets.keys()], []);
  t.deepEqual([...(await counters.ensure())].sort(), Object.values(counterNames).sort());
  kernel.packets.set(counterNames.invalid, 7);
  t.deepEqual([...(await counters.ensure())].sort(), Object.values(counterNames).sort());
  t.is((await counters.read()).get(counterNames.invalid), 7);
});

test('a counter that cannot be created is reported, and no rule names it', async t => {
  const kernel = new FakeCounters();
  kernel.refused.add(counterNames.localhost);
  const {log, lines} = recordingLog();
  t.deepEqual([...(await (await openCounters(kernel, log)).ensure())], [counterNames.invalid]);
  t.deepEqual(lines, ['error failed to create a counter of packets: its metric will not be updated']);
});

test('a machine without the program has no counters, and says so', async t => {
  const kernel = new FakeCounters();
  kernel.isInstalled = false;
  const {log, lines} = recordingLog();
  t.is(await openCounters(kernel, log), noCounters);
  t.deepEqual(lines, ['info packets are not counted: nfacct is not available']);
});

test('metrics show the counters that there are', async t => {
  const kernel = new FakeCounters();
  const counters = await openCounters(kernel, noLog);
  const registry = new MetricsRegistry();
  const beforeScrape = counterMetrics(counters, registry, noLog);
  const values = async () => {
    await beforeScrape();
    const text = (await registry.encoded()).bytes.toString();
    return text.split('\n').filter(line => /^kubeproxy_iptables_\S+ \d/.test(line));
  };
  await counters.ensure();
  kernel.packets.set(counterNames.invalid, 7).set(counterNames.localhost, 3);
  t.deepEqual((await values()).sort(), [
    'kubeproxy_iptables_ct_state_invalid_dropped_packets_total 7',
    'kubeproxy_iptables_localhost_nodeports_accepted_packets_total 3',
  ]);
});

const nodePorts = async (family: 'IPv4' | 'IPv6', names: readonly string[], localhostNodePorts = family === 'IPv4') => {
  const [ip, endpoint] = family === 'IPv4' ? ['10.96.0.5', '10.244.0.5'] : ['fd00:96::5', 'fd00:10::5'];
  const proxy = new FakeIptablesProxy({family, base: {localhostNodePorts}, counters: {ensure: async () => new Set(names)}});
  await proxy.begin(
    [service('ns/web', {type: 'NodePort', clusterIP: ip, ports: [port({nodePort: 30_001})]})],
    [slice('ns/web', [local(endpoint)])],
  );
  const counted = (table: string, chain: string) => proxy.kernel.rules(table, chain)?.filter(rule => rule.includes('-m nfacct'));
  return {
    forward: counted('filter', 'KUBE-FORWARD'),
    nodePorts: counted('nat', 'KUBE-NODEPORTS'),
    all: proxy.kernel.rules('nat', 'KUBE-NODEPORTS'),
  };
};

const both = Object.values(counterNames);

test('invalid packets are counted where they are dropped, and those to node ports by the loopback before others', async t => {
  const {forward, nodePorts: counted, all} = await nodePorts('IPv4', both);
  t.deepEqual(forward, [`-m conntrack --ctstate INVALID -m nfacct --nfacct-name ${counterNames.invalid} -j DROP`]);
  t.is(counted?.length, 1);
  t.regex(counted![0]!, /-m tcp -p tcp -d 127\.0\.0\.0\/8 --dport 30001 -m nfacct --nfacct-name localhost_nps_accepted_pkts -j KUBE-EXT-/);
  t.deepEqual([all?.length, all?.[0]], [2, counted![0]]);
});

test('nothing is counted that no counter is for, by IPv6, or where the loopback has no node ports', async t => {
  t.deepEqual((await nodePorts('IPv4', [])).forward, []);
  t.deepEqual((await nodePorts('IPv4', [])).nodePorts, []);
  t.deepEqual((await nodePorts('IPv4', both, false)).nodePorts, []);
  const six = await nodePorts('IPv6', both);
  t.deepEqual([six.forward?.length, six.nodePorts], [1, []]);
});
