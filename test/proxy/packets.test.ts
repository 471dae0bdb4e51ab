import test from 'ava';
import type {EndpointSlice} from '#src/proxy/state/endpoint.js';
import type {RuleSettings} from '#src/proxy/mode/settings.js';
import type {Service} from '#src/proxy/state/service-port.js';
import {local, port, service, slice} from './objects.js';
import {FakeProxy} from './proxy.js';
import {trace} from './trace.js';

// What happens to packets, by services and the traffic's source and destination.

const node = '192.168.0.2';
/** An address of the node that takes no traffic to node ports. */
const otherAddress = '192.168.1.2';
const nodeIps = [node, otherAddress, '2001:db8::1', '2001:db8:1::2'];
const pod = '10.0.0.2';
const client = '203.0.113.2';
const blocked = '203.0.113.130';

const sources: Readonly<Record<string, string>> = {pod, client, blocked, node, pod1: '10.180.0.1'};

interface World {
  readonly title: string;
  readonly services: readonly Service[];
  readonly slices: readonly EndpointSlice[];
  readonly settings?: Partial<RuleSettings>;
  readonly zone?: string;
  readonly family?: 'IPv6';
  /** `SOURCE -> ADDRESS:PORT[/udp]`, and what it reaches; with `masqueraded` after it. */
  readonly packets: Readonly<Record<string, string>>;
}

const clusterIp = '172.30.0.41';
const reachable = {type: 'LoadBalancer', clusterIP: clusterIp, externalIPs: ['192.168.99.11'], ports: [port({nodePort: 3001})]} as const;

const worlds: readonly World[] = [
  {
    title: 'a service without endpoints rejects',
    services: [service('ns1/svc1', reachable, ['1.2.3.4'])],
    slices: [],
    packets: {
      'pod -> 172.30.0.41:80': 'reject',
      'client -> 192.168.99.11:80': 'reject',
      'pod -> 192.168.0.2:3001': 'reject',
      'client -> 192.168.0.2:3001': 'reject',
      'pod -> 1.2.3.4:80': 'reject',
      'client -> 1.2.3.4:80': 'reject',
    },
  },
  {
    title: 'cluster IPs take the ports and protocols of their service alone',
    services: [
      service('ns1/svc1', {clusterIP: clusterIp}),
      service('ns2/svc2', {
        clusterIP: '172.30.0.42',
        ports: [port({name: 'https', port: 443}), port({name: 'dns', port: 53, protocol: 'UDP'}), port({name: 'dns-tcp', port: 53})],
      }),
    ],
    slices: [
      slice('ns1/svc1', [local('10.180.0.1')]),
      slice(
        'ns2/svc2',
        [local('10.180.0.1'), '10.180.2.1'],
        [
          {name: 'https', port: 8443},
          {name: 'dns', port: 53, protocol: 'UDP'},
          {name: 'dns-tcp', port: 5353},
        ],
      ),
    ],
    packets: {
      'pod -> 172.30.0.41:80': '10.180.0.1:80',
      'pod1 -> 172.30.0.41:80': '10.180.0.1:80 masqueraded',
      'client -> 172.30.0.41:80': '10.180.0.1:80 masqueraded',
      'pod -> 172.30.0.42:443': '10.180.0.1:8443 10.180.2.1:8443',
      'pod -> 172.30.0.42:53/udp': '10.180.0.1:53 10.180.2.1:53',
      'pod -> 172.30.0.42:53': '10.180.0.1:5353 10.180.2.1:5353',
      'pod -> 172.30.0.41:80/udp': 'reject',
      'pod -> 172.30.0.41:443': 'reject',
      'pod -> 172.30.0.50:80': 'drop',
    },
  },
  {
    title: 'masqueradeAll masquerades all traffic to cluster IPs',
    settings: {masqueradeAll: true},
    services: [service('ns1/svc1', {clusterIP: clusterIp})],
    slices: [slice('ns1/svc1', ['10.180.0.1'])],
    packets: {'pod -> 172.30.0.41:80': '10.180.0.1:80 masqueraded', 'client -> 172.30.0.41:80': '10.180.0.1:80 masqueraded'},
  },
  {
    title: 'without detection of local traffic only traffic of an endpoint to itself is masqueraded',
    settings: {localDetection: {by: 'nothing'}},
    services: [service('ns1/svc1', {clusterIP: clusterIp})],
    slices: [slice('ns1/svc1', ['10.180.0.1'])],
    packets: {'client -> 172.30.0.41:80': '10.180.0.1:80', 'pod1 -> 172.30.0.41:80': '10.180.0.1:80 masqueraded'},
  },
  {
    title: 'source ranges bound the use of a load balancer, and not of node ports',
    services: [
      service('ns1/svc1', {...reachable, loadBalancerSourceRanges: ['192.168.0.0/24', ' 203.0.113.0/25']}, ['1.2.3.4', '5.6.7.8']),
    ],
    slices: [slice('ns1/svc1', ['10.180.0.1'])],
    packets: {
      'pod -> 172.30.0.41:80': '10.180.0.1:80',
      'client -> 192.168.0.2:3001': '10.180.0.1:80 masqueraded',
      'blocked -> 192.168.0.2:3001': '10.180.0.1:80 masqueraded',
      'blocked -> 192.168.99.11:80': '10.180.0.1:80 masqueraded',
      'client -> 1.2.3.4:80': '10.180.0.1:80 masqueraded',
      'client -> 5.6.7.8:80': '10.180.0.1:80 masqueraded',
      'blocked -> 1.2.3.4:80': 'drop',
      'blocked -> 5.6.7.8:80': 'drop',
      'pod -> 1.2.3.4:80': 'drop',
      'node -> 1.2.3.4:80': '10.180.0.1:80 masqueraded',
      '1.2.3.4 -> 1.2.3.4:80': '10.180.0.1:80 masqueraded',
    },
  },
  {
    title: 'a local external policy keeps the source of outside traffic to local endpoints',
    services: [service('ns1/svc1', {...reachable, externalTrafficPolicy: 'Local'}, ['1.2.3.4'])],
    slices: [slice('ns1/svc1', [local('10.180.0.1'), '10.180.2.1'])],
    packets: {
      'pod -> 172.30.0.41:80': '10.180.0.1:80 10.180.2.1:80',
      'client -> 192.168.0.2:3001': '10.180.0.1:80',
      'client -> 1.2.3.4:80': '10.180.0.1:80',
      'client -> 192.168.99.11:80': '10.180.0.1:80',
      'pod -> 1.2.3.4:80': '10.180.0.1:80 10.180.2.1:80',
      'node -> 192.168.0.2:3001': '10.180.0.1:80 10.180.2.1:80 masqueraded',
    },
  },
  {
    title: 'a local external policy without local endpoints drops outside traffic alone',
    services: [service('ns1/svc1', {...reachable, externalTrafficPolicy: 'Local'}, ['1.2.3.4'])],
    slices: [slice('ns1/svc1', ['10.180.2.1'])],
    packets: {
      'pod -> 172.30.0.41:80': '10.180.2.1:80',
      'client -> 192.168.0.2:3001': 'drop',
      'client -> 1.2.3.4:80': 'drop',
      'client -> 192.168.99.11:80': 'drop',
      'pod -> 1.2.3.4:80': '10.180.2.1:80',
      'node -> 192.168.0.2:3001': '10.180.2.1:80 masqueraded',
    },
  },
  {
    title: 'a local internal policy drops inside traffic without local endpoints, and outside traffic reaches all',
    services: [service('ns1/svc1', {...reachable, internalTrafficPolicy: 'Local'}, ['1.2.3.4'])],
    slices: [slice('ns1/svc1', ['10.180.2.1'])],
    packets: {'pod -> 172.30.0.41:80': 'drop', 'client -> 1.2.3.4:80': '10.180.2.1:80 masqueraded'},
  },
  {
    title: 'a local internal policy reaches local endpoints alone from inside',
    services: [service('ns1/svc1', {...reachable, internalTrafficPolicy: 'Local'}, ['1.2.3.4'])],
    slices: [slice('ns1/svc1', [local('10.180.0.1'), '10.180.2.1'])],
    packets: {
      'pod -> 172.30.0.41:80': '10.180.0.1:80',
      'client -> 1.2.3.4:80': '10.180.0.1:80 10.180.2.1:80 masqueraded',
    },
  },
  {
    title: 'local endpoints that terminate are used with a local policy where no other is local',
    services: [service('ns1/svc1', {...reachable, externalTrafficPolicy: 'Local'}, ['1.2.3.4'])],
    slices: [slice('ns1/svc1', [local('10.180.0.1', {conditions: {ready: false, serving: true, terminating: true}}), '10.180.2.1'])],
    packets: {'client -> 1.2.3.4:80': '10.180.0.1:80', 'pod -> 172.30.0.41:80': '10.180.2.1:80'},
  },
  {
    title: 'hints keep traffic in the zone',
    zone: 'z1',
    services: [service('ns1/svc1', {clusterIP: clusterIp})],
    slices: [
      slice('ns1/svc1', [
        {addresses: ['10.180.0.1'], hints: {forZones: [{name: 'z1'}]}},
        {addresses: ['10.180.2.1'], hints: {forZones: [{name: 'z2'}]}},
      ]),
    ],
    packets: {'pod -> 172.30.0.41:80': '10.180.0.1:80'},
  },
  {
    title: 'only addresses of the configured ranges take traffic to node ports',
    services: [service('ns1/svc1', {type: 'NodePort', clusterIP: clusterIp, ports: [port({nodePort: 3001})]})],
    slices: [slice('ns1/svc1', ['10.180.0.1'])],
    packets: {
      'client -> 192.168.0.2:3001': '10.180.0.1:80 masqueraded',
      'client -> 192.168.1.2:3001': '',
      'client -> 172.30.0.41:3001': 'reject',
      'pod -> 192.168.0.2:3001': '10.180.0.1:80 masqueraded',
    },
  },
  {
    title: 'without ranges every local address takes traffic to node ports',
    settings: {nodePortAddresses: []},
    services: [service('ns1/svc1', {type: 'NodePort', clusterIP: clusterIp, ports: [port({nodePort: 3001})]})],
    slices: [slice('ns1/svc1', ['10.180.0.1'])],
    packets: {
      'client -> 192.168.0.2:3001': '10.180.0.1:80 masqueraded',
      'client -> 192.168.1.2:3001': '10.180.0.1:80 masqueraded',
      'client -> 192.168.7.7:3001': '',
    },
  },
  {
    title: 'addresses of load balancers that are proxies are not the node’s business',
    services: [
      {
        ...service('ns1/svc1', reachable),
        status: {
          loadBalancer: {
            ingress: [
              {ip: '1.2.3.4', ipMode: 'Proxy'},
              {ip: '5.6.7.8', ipMode: 'VIP'},
            ],
          },
        },
      },
    ],
    slices: [slice('ns1/svc1', ['10.180.0.1'])],
    packets: {'client -> 1.2.3.4:80': '', 'client -> 5.6.7.8:80': '10.180.0.1:80 masqueraded'},
  },
  {
    title: 'IPv6 behaves alike',
    family: 'IPv6',
    services: [
      service('ns1/svc1', {
        type: 'NodePort',
        clusterIP: 'fd00:10:96::29',
        externalTrafficPolicy: 'Local',
        ports: [port({nodePort: 3001})],
      }),
    ],
    slices: [slice('ns1/svc1', [local('fd00:10::1'), 'fd00:10::2'])],
    packets: {
      'fd00:10::3 -> [fd00:10:96::29]:80': '[fd00:10::1]:80 [fd00:10::2]:80',
      '2001:db8:9::9 -> [2001:db8::1]:3001': '[fd00:10::1]:80',
      '2001:db8:9::9 -> [2001:db8:1::2]:3001': '',
      'fd00:10::3 -> [fd00:10:96::30]:80': 'drop',
    },
  },
];

for (const {title, services, slices, settings = {}, zone, family = 'IPv4', packets} of worlds)
  test(title, async t => {
    const proxy = new FakeProxy({settings, family});
    proxy.proxier.zoneChanged(zone);
    await proxy.begin(services, slices);

    for (const [packet, expected] of Object.entries(packets)) {
      const [, from = '', to = '', number = '', protocol = 'tcp'] = /^(\S+) -> \[?(.*?)\]?:(\d+)(?:\/(\w+))?$/.exec(packet) ?? [];
      const {reaches, isMasqueraded} = trace(proxy.kernel, nodeIps, {from: sources[from] ?? from, to, port: Number(number), protocol});
      const isDelivered = !['drop', 'reject', ''].includes(reaches);
      t.is(`${reaches}${isDelivered && isMasqueraded ? ' masqueraded' : ''}`, expected, packet);
    }
  });
