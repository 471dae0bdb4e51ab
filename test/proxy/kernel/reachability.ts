// What is reached through a proxy, and from where: services, their endpoints, and how each case has to end.

import type {EndpointSlice} from '#src/proxy/state/endpoint.js';
import type {Service} from '#src/proxy/state/service-port.js';
import {local, port, service, slice} from '#test/proxy/objects.js';
import {deniedIp, ipOf, type Party, type Question, type World} from './world.js';

const ports = (nodePort: number) => [
  {name: 'tcp', port: 80, protocol: 'TCP', nodePort},
  {name: 'udp', port: 80, protocol: 'UDP', nodePort},
];
export const both = [
  {name: 'tcp', port: 8080},
  {name: 'udp', port: 8080, protocol: 'UDP'},
];

export const pod1 = local(ipOf('pod1'));
export const pod2 = local(ipOf('pod2'));
const remote = {addresses: [ipOf('remote')], nodeName: 'other'};
const draining = {conditions: {ready: false, serving: true, terminating: true}};
const affinity = (seconds: number) => ({sessionAffinity: 'ClientIP', sessionAffinityConfig: {clientIP: {timeoutSeconds: seconds}}});

/** A service of ports 80 of TCP and UDP with a cluster IP and a node port, both by its number. */
const numbered = (number: number, spec: Partial<NonNullable<Service['spec']>> = {}, balancers: readonly string[] = []): Service =>
  service(`ns/s${number}`, {type: 'LoadBalancer', clusterIP: `172.30.0.${number}`, ports: ports(30_000 + number), ...spec}, balancers);

export const services: readonly Service[] = [
  numbered(1, {externalIPs: ['192.168.99.1']}, ['1.2.3.1']),
  numbered(2, {externalTrafficPolicy: 'Local'}, ['1.2.3.2']),
  numbered(3, {externalTrafficPolicy: 'Local'}, ['1.2.3.3']),
  numbered(4, {internalTrafficPolicy: 'Local'}),
  numbered(5, {internalTrafficPolicy: 'Local'}),
  numbered(6, {externalIPs: ['192.168.99.6']}, ['1.2.3.6']),
  numbered(7),
  numbered(8),
  numbered(9, {loadBalancerSourceRanges: ['192.168.0.0/28']}, ['1.2.3.9']),
  numbered(10, affinity(600)),
  numbered(11, affinity(1)),
  numbered(12),
  numbered(13),
  service('ns/headless', {clusterIP: 'None'}),
  service('ns/dual', {
    type: 'NodePort',
    clusterIP: '172.30.0.20',
    clusterIPs: ['172.30.0.20', 'fd00:10:96::20'],
    ipFamilies: ['IPv4', 'IPv6'],
    ipFamilyPolicy: 'RequireDualStack',
    ports: ports(30_020),
  }),
  service('ns/empty6', {clusterIP: 'fd00:10:96::21', ports: [port({name: 'udp', protocol: 'UDP'})]}),
];

export const slices: readonly EndpointSlice[] = [
  slice('ns/s1', [pod1, pod2], both),
  slice('ns/s2', [pod1, remote], both),
  slice('ns/s3', [remote], both),
  slice('ns/s4', [pod1, remote], both),
  slice('ns/s5', [remote], both),
  slice('ns/s7', [{...pod1, ...draining}], both),
  slice('ns/s8', [{...pod1, ...draining}, pod2], both),
  slice('ns/s9', [pod1], both),
  slice('ns/s10', [pod1, pod2], both),
  slice('ns/s11', [pod1, pod2], both),
  slice('ns/s12', [pod1], both),
  slice('ns/s13', [pod1, pod2], both),
  slice('ns/headless', [pod1], both),
  slice('ns/dual', [pod1], both, 'v4'),
  slice('ns/dual', [local(ipOf('pod1', 'IPv6'))], both, 'v6'),
];

/** The address from which the node asks pods. */
const gateway = '10.180.0.1';
const client = ipOf('client');

export interface Case {
  readonly title: string;
  readonly from: Party;
  readonly to: string;
  readonly ask?: Partial<Question>;
  /** What answers: `NAME SOURCE` for each endpoint, or what goes wrong. */
  readonly answers: readonly string[];
}

const from = (source: string, ...names: string[]): string[] => names.map(name => `${name} ${source}`);

export const cases: readonly Case[] = [
  {title: 'a pod reaches all endpoints of a cluster IP, as itself', from: 'pod1', to: '172.30.0.8:80', answers: from(ipOf('pod1'), 'pod2')},
  {
    title: 'a pod reaches a cluster IP by UDP',
    from: 'pod2',
    to: '172.30.0.12:80',
    ask: {protocol: 'udp'},
    answers: from(ipOf('pod2'), 'pod1'),
  },
  {title: 'the node reaches all endpoints of a cluster IP', from: 'node', to: '172.30.0.1:80', answers: from(gateway, 'pod1', 'pod2')},
  {
    title: 'the node reaches a cluster IP by UDP',
    from: 'node',
    to: '172.30.0.1:80',
    ask: {protocol: 'udp'},
    answers: from(gateway, 'pod1', 'pod2'),
  },
  {
    title: 'a client outside reaches a cluster IP through the node',
    from: 'client',
    to: '172.30.0.1:80',
    answers: from(gateway, 'pod1', 'pod2'),
  },
  {title: 'a client reaches a node port', from: 'client', to: '192.168.0.2:30001', answers: from(gateway, 'pod1', 'pod2')},
  {
    title: 'a client reaches a node port by UDP',
    from: 'client',
    to: '192.168.0.2:30001',
    ask: {protocol: 'udp'},
    answers: from(gateway, 'pod1', 'pod2'),
  },
  {title: 'the node reaches a node port at its address', from: 'node', to: '192.168.0.2:30001', answers: from(gateway, 'pod1', 'pod2')},
  {title: 'a pod reaches a node port', from: 'remote', to: '192.168.0.2:30012', answers: from(gateway, 'pod1')},
  {title: 'other addresses of the node take no traffic to node ports', from: 'client', to: '10.180.0.1:30001', answers: ['ECONNREFUSED']},
  {title: 'a client reaches an external IP', from: 'client', to: '192.168.99.1:80', answers: from(gateway, 'pod1', 'pod2')},
  {title: 'a client reaches the address of a load balancer', from: 'client', to: '1.2.3.1:80', answers: from(gateway, 'pod1', 'pod2')},
  {
    title: 'a pod that reaches itself by a cluster IP is answered by the node',
    from: 'pod1',
    to: '172.30.0.12:80',
    answers: from(gateway, 'pod1'),
  },
  {title: 'a local external policy keeps the source at node ports', from: 'client', to: '192.168.0.2:30002', answers: from(client, 'pod1')},
  {title: 'a local external policy keeps the source at load balancers', from: 'client', to: '1.2.3.2:80', answers: from(client, 'pod1')},
  {
    title: 'with a local external policy pods reach every endpoint of a load balancer',
    from: 'pod2',
    to: '1.2.3.2:80',
    answers: from(ipOf('pod2'), 'pod1', 'remote'),
  },
  {
    title: 'with a local external policy the cluster IP reaches every endpoint',
    from: 'pod2',
    to: '172.30.0.2:80',
    answers: from(ipOf('pod2'), 'pod1', 'remote'),
  },
  {
    title: 'a node port with a local external policy and no local endpoint drops',
    from: 'client',
    to: '192.168.0.2:30003',
    answers: ['TIMEOUT'],
  },
  {
    title: 'a load balancer with a local external policy and no local endpoint drops',
    from: 'client',
    to: '1.2.3.3:80',
    answers: ['TIMEOUT'],
  },
  {title: 'such a load balancer is reached from pods', from: 'pod1', to: '1.2.3.3:80', answers: from(ipOf('pod1'), 'remote')},
  {title: 'a local internal policy reaches the local endpoint', from: 'pod2', to: '172.30.0.4:80', answers: from(ipOf('pod2'), 'pod1')},
  {title: 'a local internal policy without local endpoint drops', from: 'pod1', to: '172.30.0.5:80', answers: ['TIMEOUT']},
  {title: 'a cluster IP without endpoints refuses pods', from: 'pod1', to: '172.30.0.6:80', answers: ['ECONNREFUSED']},
  {title: 'a cluster IP without endpoints refuses the node', from: 'node', to: '172.30.0.6:80', answers: ['ECONNREFUSED']},
  {
    title: 'a cluster IP without endpoints refuses UDP',
    from: 'pod1',
    to: '172.30.0.6:80',
    ask: {protocol: 'udp'},
    answers: ['ECONNREFUSED'],
  },
  {title: 'a node port without endpoints refuses', from: 'client', to: '192.168.0.2:30006', answers: ['ECONNREFUSED']},
  {title: 'an external IP without endpoints refuses', from: 'client', to: '192.168.99.6:80', answers: ['ECONNREFUSED']},
  {title: 'the address of a load balancer without endpoints refuses', from: 'client', to: '1.2.3.6:80', answers: ['ECONNREFUSED']},
  {title: 'a port that a service does not have refuses', from: 'pod1', to: '172.30.0.1:81', answers: ['ECONNREFUSED']},
  {title: 'a cluster IP of no service drops', from: 'pod1', to: '172.30.0.99:80', answers: ['TIMEOUT']},
  {
    title: 'an endpoint that terminates is used where there is no other',
    from: 'pod2',
    to: '172.30.0.7:80',
    answers: from(ipOf('pod2'), 'pod1'),
  },
  {title: 'an endpoint that terminates is not used beside another', from: 'node', to: '172.30.0.8:80', answers: from(gateway, 'pod2')},
  {title: 'a client within the source ranges reaches a load balancer', from: 'client', to: '1.2.3.9:80', answers: from(gateway, 'pod1')},
  {title: 'a client outside of the source ranges does not', from: 'client', to: '1.2.3.9:80', ask: {from: deniedIp}, answers: ['TIMEOUT']},
  {
    title: 'source ranges do not bind node ports',
    from: 'client',
    to: '192.168.0.2:30009',
    ask: {from: deniedIp},
    answers: from(gateway, 'pod1'),
  },
  {title: 'a pod reaches a cluster IP of IPv6', from: 'pod2', to: '[fd00:10:96::20]:80', answers: from(ipOf('pod2', 'IPv6'), 'pod1')},
  {title: 'the same service has its cluster IP of IPv4', from: 'pod2', to: '172.30.0.20:80', answers: from(ipOf('pod2'), 'pod1')},
  {title: 'a client reaches a node port by IPv6', from: 'client', to: '[2001:db8::2]:30020', answers: from('fd00:10::1', 'pod1')},
  {
    title: 'a pod reaches a cluster IP of IPv6 by UDP',
    from: 'pod2',
    to: '[fd00:10:96::20]:80',
    ask: {protocol: 'udp'},
    answers: from(ipOf('pod2', 'IPv6'), 'pod1'),
  },
  // By UDP: a TCP socket of IPv6 does not hear of an answer to its first packet that comes within the same call.
  {
    title: 'a cluster IP of IPv6 without endpoints refuses',
    from: 'pod1',
    to: '[fd00:10:96::21]:80',
    ask: {protocol: 'udp'},
    answers: ['ECONNREFUSED'],
  },
];

export const target = (to: string): {readonly ip: string; readonly port: number} => {
  const [, ip = '', number = ''] = /^\[?(.*?)\]?:(\d+)$/.exec(to) ?? [];
  return {ip, port: Number(number)};
};

/** With two endpoints, that one of them is never chosen is as good as impossible. */
const asks = 24;

/** What answers in a case, each once, and how long the slowest took. */
export const found = async (
  world: World,
  {from: party, to, ask = {}, answers}: Case,
): Promise<{readonly answers: string[]; readonly slowestMs: number}> => {
  const count = answers[0] === 'TIMEOUT' ? 1 : answers.length > 1 ? asks : 3;
  const all = await Promise.all(
    Array.from({length: count}, () => world.ask(party, {...target(to), ...ask, timeoutMs: answers[0] === 'TIMEOUT' ? 400 : 3000})),
  );
  return {answers: [...new Set(all.map(({answer}) => answer))].sort(), slowestMs: Math.max(...all.map(({ms}) => ms))};
};

/** The parties serve at the port of all endpoints. */
export const serveEndpoints = async (world: World): Promise<void> => {
  for (const party of ['pod1', 'pod2', 'remote'] as const) await world.serve(party, 8080);
};
