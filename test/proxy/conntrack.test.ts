import test from 'ava';
import {noLog} from '#src/base/log.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {cleanFlows} from '#src/proxy/conntrack/clean-flows.js';
import {parseFlows, staleFlows, type Flow} from '#src/proxy/conntrack/flows.js';
import {isTcpLiberal, maxConnections, setConntrackLimits, type ConntrackSettings} from '#src/proxy/conntrack/limits.js';
import type {Command, Finished} from '#src/proxy/kernel/kernel.js';
import {proxyMetrics} from '#src/proxy/metrics/proxy-metrics.js';
import {endpointsOf} from '#src/proxy/state/endpoint.js';
import {servicePortsOf, type Service} from '#src/proxy/state/service-port.js';
import {nodeName, service, slice} from './objects.js';

const dns = (spec: Parameters<typeof service>[1] = {}) =>
  service(
    'kube-system/dns',
    {
      type: 'LoadBalancer',
      clusterIP: '172.30.1.1',
      externalIPs: ['192.168.99.9'],
      ports: [{name: 'udp', port: 53, protocol: 'UDP', nodePort: 30_053}],
      ...spec,
    },
    ['1.2.3.4'],
  );
const port = [{name: 'udp', port: 5300, protocol: 'UDP'}];
const key = {namespace: 'kube-system', name: 'dns'};

const stateOf = (each: Service, slices: readonly ReturnType<typeof slice>[]) => ({
  services: servicePortsOf(each, 'IPv4'),
  endpoints: endpointsOf(key, slices, nodeName),
});
const serving = stateOf(dns(), [slice('kube-system/dns', ['10.240.0.4', '10.240.0.5'], port)]);

const flow = (destination: string, destinationPort: number, replySource: string, replySourcePort = 5300): Flow => ({
  destination,
  destinationPort,
  replySource,
  replySourcePort,
});

const listing = [
  'udp      17 29 src=10.240.1.7 dst=172.30.1.1 sport=40000 dport=53 src=10.240.0.9 dst=10.240.1.7 sport=5300 dport=40000 [ASSURED] mark=0 use=1',
  'udp      17 3 src=10.240.1.8 dst=172.30.1.1 sport=40001 dport=53 [UNREPLIED] src=10.240.0.4 dst=10.240.1.8 sport=5300 dport=40001 mark=0 use=1',
  'udp      17 20 src=fd00::7 dst=fd00:30:0::1 sport=40000 dport=53 src=fd00::9 dst=fd00::7 sport=5300 dport=40000 mark=0 use=1',
  'icmp     1 29 src=10.0.0.1 dst=10.0.0.2 type=8 code=0 id=1 src=10.0.0.2 dst=10.0.0.1 type=0 code=0 id=1 mark=0 use=1',
  '',
].join('\n');

test('reads destinations and repliers of flows, with and without replies', t => {
  t.deepEqual(parseFlows(listing), [
    flow('172.30.1.1', 53, '10.240.0.9'),
    flow('172.30.1.1', 53, '10.240.0.4'),
    flow('fd00:30::1', 53, 'fd00::9'),
  ]);
});

for (const [title, flows, stale] of [
  ['to the cluster IP', [flow('172.30.1.1', 53, '10.240.0.9')], ['172.30.1.1']],
  ['to an external IP', [flow('192.168.99.9', 53, '10.240.0.9')], ['192.168.99.9']],
  ['to the address of a load balancer', [flow('1.2.3.4', 53, '10.240.0.9')], ['1.2.3.4']],
  ['to the node port, whatever the address', [flow('192.168.0.2', 30_053, '10.240.0.9')], [undefined]],
  ['that were never translated', [flow('172.30.1.1', 53, '172.30.1.1', 53)], ['172.30.1.1']],
] as const)
  test(`flows ${title} are stale if no endpoint answers them`, t => {
    t.deepEqual(
      staleFlows(flows, serving).map(({destination}) => destination),
      stale,
    );
  });

for (const [title, flows] of [
  ['to endpoints', [flow('172.30.1.1', 53, '10.240.0.4'), flow('192.168.0.2', 30_053, '10.240.0.5')]],
  ['to other ports', [flow('172.30.1.1', 54, '10.240.0.9')]],
  ['to other addresses', [flow('172.30.1.2', 53, '10.240.0.9')]],
] as const)
  test(`flows ${title} stay`, t => {
    t.deepEqual(staleFlows(flows, serving), []);
  });

test('an endpoint that terminates and still serves keeps its flows; one that does not serve loses them', t => {
  const terminating = (isServing: boolean) => ({
    addresses: ['10.240.0.6'],
    conditions: {ready: false, serving: isServing, terminating: true},
  });
  const state = (isServing: boolean) => stateOf(dns(), [slice('kube-system/dns', ['10.240.0.4', terminating(isServing)], port)]);
  const flows = [flow('172.30.1.1', 53, '10.240.0.6')];

  t.deepEqual([staleFlows(flows, state(true)).length, staleFlows(flows, state(false)).length], [0, 1]);
});

test('flows to a service without endpoints stay, and so do those of TCP', t => {
  const tcp = dns({ports: [{name: 'udp', port: 53, protocol: 'TCP'}]});
  const flows = [flow('172.30.1.1', 53, '10.240.0.9')];

  t.deepEqual(staleFlows(flows, stateOf(dns(), [])), []);
  t.deepEqual(staleFlows(flows, stateOf(tcp, [slice('kube-system/dns', ['10.240.0.4'], [{name: 'udp', port: 5300}])])), []);
});

test('many flows between the same addresses are one filter', t => {
  const same = flow('172.30.1.1', 53, '10.240.0.9');

  t.is(staleFlows([same, same, flow('172.30.1.1', 53, '10.240.0.8')], serving).length, 2);
});

class FakeConntrack {
  readonly commands: Command[] = [];
  readonly #answers: readonly (Finished | Error)[];

  constructor(...answers: (string | Error)[]) {
    this.#answers = answers.map(each => (typeof each === 'string' ? {exitCode: 0, stdout: each, stderr: ''} : each));
  }

  run(command: Command): Promise<Finished> {
    const answer = this.#answers[this.commands.push(command) - 1]!;
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  }
}

const clean = async (kernel: FakeConntrack): Promise<string> => {
  const meter = new MetricsRegistry();
  await cleanFlows({kernel, clock: new VirtualClock(), log: noLog, metrics: proxyMetrics(meter)}, 'IPv4', serving);
  return (await meter.encoded()).bytes.toString();
};

test('stale flows are deleted by one run of the program, and counted', async t => {
  const nodePort = listing
    .replace('dst=172.30.1.1 sport=40001 dport=53', 'dst=192.168.0.2 sport=40001 dport=30053')
    .replace('10.240.0.4', '10.240.0.8');
  const kernel = new FakeConntrack(nodePort, 'a deleted flow\nanother\n');
  const metrics = await clean(kernel);

  t.deepEqual(kernel.commands[0]?.args, ['-L', '-f', 'ipv4', '-p', 'udp']);
  t.deepEqual(kernel.commands[1]?.args, ['-R', '-']);
  t.is(
    kernel.commands[1]?.input,
    '-D -f ipv4 -p udp --orig-dst 172.30.1.1 --orig-port-dst 53 --reply-src 10.240.0.9 --reply-port-src 5300\n' +
      '-D -f ipv4 -p udp --orig-port-dst 30053 --reply-src 10.240.0.8 --reply-port-src 5300\n',
  );
  t.true(metrics.includes('kubeproxy_conntrack_reconciler_deleted_entries_total{ip_family="IPv4"} 2'));
  t.true(metrics.includes('kubeproxy_conntrack_reconciler_sync_duration_seconds_count{ip_family="IPv4"} 1'));
});

test('nothing is deleted without stale flows, nor where they cannot be listed', async t => {
  const fresh = new FakeConntrack(listing.split('\n')[1]!);
  const missing = new FakeConntrack(new Error('spawn conntrack ENOENT'));
  await clean(fresh);
  const metrics = await clean(missing);

  t.deepEqual([fresh.commands.length, missing.commands.length], [1, 1]);
  t.false(metrics.includes('reconciler_sync_duration_seconds_count{ip_family'));
});

const settings: ConntrackSettings = {
  maxPerCore: 32_768,
  min: 131_072,
  tcpEstablishedTimeout: 86_400_000,
  tcpCloseWaitTimeout: 3_600_000,
  tcpBeLiberal: false,
  udpTimeout: 0,
  udpStreamTimeout: 0,
};

for (const [title, given, cores, most] of [
  ['the least number with few cores', {}, 2, 131_072],
  ['a number for each core with many', {}, 8, 262_144],
  ['no number if none is to be for a core, whatever the least', {maxPerCore: 0}, 8, 0],
] as const)
  test(`tracks ${title}`, t => {
    t.is(maxConnections({...settings, ...given}, cores), most);
  });

/** A kernel with parameters and files, which may be read-only. */
class FakeKernel {
  readonly sysctls = new Map([['net/netfilter/nf_conntrack_max', '65536']]);
  readonly files: Map<string, string>;
  readonly events: string[] = [];

  constructor(hashSize: number, mounts = 'sysfs /sys sysfs rw,nosuid 0 0') {
    this.files = new Map([
      ['/sys/module/nf_conntrack/parameters/hashsize', `${hashSize}\n`],
      ['/proc/mounts', mounts],
    ]);
  }

  async set(given: Partial<ConntrackSettings> = {}): Promise<void> {
    const {sysctls, files, events} = this;
    await setConntrackLimits(
      {...settings, ...given},
      {
        kernel: {
          readSysctl: async name => sysctls.get(name),
          writeSysctl: async (name, value) => void sysctls.set(name, value),
        },
        files: {read: async path => files.get(path)!, write: async (path, value) => void files.set(path, value)},
        cores: 2,
        log: noLog,
        readOnly: message => events.push(message),
      },
    );
  }

  get hashSize(): string | undefined {
    return this.files.get('/sys/module/nf_conntrack/parameters/hashsize');
  }
}

test('sets the limit, the timeouts and a table that is large enough', async t => {
  const kernel = new FakeKernel(16_384);
  await kernel.set({tcpBeLiberal: true, udpTimeout: 45_500, udpStreamTimeout: 120_000});

  t.deepEqual(
    [...kernel.sysctls].map(([name, value]) => `${name.replace('net/netfilter/nf_conntrack_', '')}=${value}`),
    [
      'max=131072',
      'tcp_timeout_established=86400',
      'tcp_timeout_close_wait=3600',
      'tcp_be_liberal=1',
      'udp_timeout=45',
      'udp_timeout_stream=120',
    ],
  );
  t.is(kernel.hashSize, '32768');
});

test('leaves what is zero to the kernel, and a table that is large enough as it is', async t => {
  const kernel = new FakeKernel(65_536);
  await kernel.set({tcpEstablishedTimeout: 0, tcpCloseWaitTimeout: 0});

  t.deepEqual([...kernel.sysctls.keys()], ['net/netfilter/nf_conntrack_max']);
  t.is(kernel.hashSize, '65536\n');
});

test('tells of a read-only /sys, and goes on', async t => {
  const kernel = new FakeKernel(16_384, 'proc /proc proc rw 0 0\nsysfs /sys sysfs ro,nosuid 0 0');
  await kernel.set();

  t.deepEqual(kernel.events, [
    'CRI error: /sys is read-only: cannot modify conntrack limits, problems may arise later (If running Docker, see docker issue #24000)',
  ]);
  t.is(kernel.hashSize, '16384\n');
  t.is(kernel.sysctls.get('net/netfilter/nf_conntrack_tcp_timeout_established'), '86400');
});

test('rejects without a /sys', async t => {
  await t.throwsAsync(new FakeKernel(16_384, '').set(), {message: 'no sysfs mounted'});
});

for (const [value, isLiberal] of [
  ['1', true],
  ['0', false],
  [undefined, false],
] as const)
  test(`a kernel whose parameter is ${value} is ${isLiberal ? '' : 'not '}liberal`, async t => {
    t.is(await isTcpLiberal({readSysctl: async () => value}), isLiberal);
  });
