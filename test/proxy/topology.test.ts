import test from 'ava';
import type {Endpoint} from '#src/proxy/state/endpoint.js';
import {servicePortsOf, type ServicePort} from '#src/proxy/state/service-port.js';
import {reachableEndpoints} from '#src/proxy/topology/reachable.js';
import {port, service} from './objects.js';

// An endpoint is written in words: its name, where it is, what it is, and its hints: `a local ready zone=z1 node=n1`.

const endpointOf = (words: string): Endpoint => {
  const [name = '', ...facts] = words.split(' ');
  const hints = (kind: string) => facts.flatMap(fact => (fact.startsWith(`${kind}=`) ? [fact.slice(kind.length + 1)] : []));
  const isDraining = facts.includes('draining');
  return {
    address: name,
    ip: name,
    port: 80,
    isLocal: facts.includes('local'),
    isReady: facts.includes('ready'),
    isServing: facts.includes('ready') || isDraining,
    isTerminating: isDraining || facts.includes('gone'),
    zoneHints: hints('zone'),
    nodeHints: hints('node'),
  };
};

/** A port of a service: its policies, and whether it has a node port. */
const portOf = (words: string): ServicePort => {
  const has = (word: string) => words.split(' ').includes(word);
  const spec = {
    type: has('nodePort') ? 'NodePort' : 'ClusterIP',
    clusterIP: '10.0.0.1',
    ports: [port(has('nodePort') ? {nodePort: 30080} : {})],
    externalTrafficPolicy: has('external=Local') ? 'Local' : 'Cluster',
    internalTrafficPolicy: has('internal=Local') ? 'Local' : 'Cluster',
  };
  const found = [...servicePortsOf(service('ns/svc', spec), 'IPv4').values()][0]!;
  return has('external=Local') ? {...found, externalPolicyLocal: true} : found;
};

interface Case {
  readonly title: string;
  readonly port?: string;
  readonly zone?: string;
  readonly endpoints: readonly string[];
  readonly cluster?: string;
  readonly local?: string;
  /** Where it is neither of the two. */
  readonly all?: string;
  /** Whether other nodes have endpoints that this one does not reach. */
  readonly elsewhere?: true;
}

const zones = ['a ready zone=z1', 'b ready zone=z2', 'c ready zone=z3', 'd ready zone=z1'];
const localInZones = ['a local ready zone=z1', 'b local ready zone=z2', 'c ready zone=z3', 'd ready zone=z1'];

const cases: readonly Case[] = [
  {title: 'hints of all endpoints keep traffic in the zone', zone: 'z1', endpoints: zones, cluster: 'a d'},
  {
    title: 'hints do not count for endpoints of a local external policy',
    port: 'nodePort external=Local',
    zone: 'z1',
    endpoints: localInZones,
    cluster: 'a d',
    local: 'a b',
    all: 'a b d',
  },
  {
    title: 'hints do not count for endpoints of a local internal policy',
    port: 'nodePort internal=Local',
    zone: 'z1',
    endpoints: localInZones,
    cluster: 'a d',
    local: 'a b',
    all: 'a b d',
  },
  {title: 'a node without a zone uses all endpoints', endpoints: ['a ready zone=z1'], cluster: 'a'},
  {title: 'a node with an empty zone uses all endpoints', zone: '', endpoints: ['a ready zone=z1'], cluster: 'a'},
  {title: 'a zone that no hint names uses all endpoints', zone: 'z2', endpoints: ['a ready zone=z1'], cluster: 'a'},
  {
    title: 'an endpoint in the zone that is not ready is not used',
    zone: 'z1',
    endpoints: ['a ready zone=z1', 'b ready zone=z2', 'c ready zone=z3', 'd zone=z1'],
    cluster: 'a',
  },
  {
    title: 'a zone whose endpoints are all not ready uses those of others',
    zone: 'z1',
    endpoints: ['a zone=z1', 'b ready zone=z2', 'c ready zone=z3', 'd zone=z1'],
    cluster: 'b c',
  },
  {
    title: 'one endpoint without a hint makes all hints void',
    zone: 'z1',
    endpoints: ['a ready zone=z1', 'b ready zone=z2', 'c ready zone=z3', 'd ready'],
    cluster: 'a b c d',
  },
  {
    title: 'an endpoint may have hints for several zones',
    zone: 'z3',
    endpoints: ['a ready zone=z1', 'b ready zone=z2 zone=z3', 'c ready zone=z2', 'd ready zone=z3'],
    cluster: 'b d',
  },
  {
    title: 'hints for the node come before those for its zone',
    zone: 'z1',
    endpoints: ['a ready zone=z1 node=n1', 'b ready zone=z1 node=n2', 'c ready zone=z2 node=n3'],
    cluster: 'a',
  },
  {
    title: 'one endpoint without a hint for a node makes those void, and hints for zones count',
    zone: 'z1',
    endpoints: ['a ready zone=z1 node=n1', 'b ready zone=z1', 'c ready zone=z2 node=n3'],
    cluster: 'a b',
  },
  {
    title: 'a node that no hint names uses the endpoints of its zone',
    zone: 'z1',
    endpoints: ['a ready zone=z1 node=n4', 'b ready zone=z1 node=n2', 'c ready zone=z2 node=n3'],
    cluster: 'a b',
  },
  {
    title: 'endpoints of the zone and of the node are both reachable where they differ',
    port: 'nodePort external=Local',
    zone: 'z1',
    endpoints: ['a ready zone=z1', 'b local ready zone=z2', 'c ready zone=z2'],
    cluster: 'a',
    local: 'b',
    all: 'a b',
  },
  {title: 'a local internal policy without endpoints reaches nothing', port: 'internal=Local', endpoints: []},
  {
    title: 'a local internal policy with endpoints on other nodes alone reaches nothing',
    port: 'internal=Local',
    endpoints: ['a ready', 'b ready'],
    elsewhere: true,
  },
  {
    title: 'a local internal policy reaches the endpoints on the node',
    port: 'internal=Local',
    endpoints: ['a local ready', 'b local ready'],
    local: 'a b',
  },
  {
    title: 'a local internal policy reaches no endpoints on other nodes',
    port: 'internal=Local',
    endpoints: ['a local ready', 'b ready'],
    local: 'a',
  },
  {title: 'endpoints that are not ready are not used', endpoints: ['a', 'b']},
  {title: 'the ready endpoints are used', endpoints: ['a', 'b ready'], cluster: 'b'},
  {
    title: 'endpoints that terminate and serve are used where no others are',
    endpoints: ['a draining', 'b draining', 'c gone'],
    cluster: 'a b',
  },
  {title: 'endpoints that terminate are not used beside ready ones', endpoints: ['a draining', 'b ready'], cluster: 'b'},
  {
    title: 'each policy has endpoints of its own: local inside, all outside',
    port: 'nodePort internal=Local',
    endpoints: ['a local ready', 'b ready'],
    cluster: 'a b',
    local: 'a',
    all: 'a b',
  },
  {
    title: 'each policy has endpoints of its own: all inside, local outside',
    port: 'nodePort external=Local',
    endpoints: ['a local ready', 'b ready'],
    cluster: 'a b',
    local: 'a',
    all: 'a b',
  },
  {
    title: 'with two local policies clients on the node still reach every endpoint',
    port: 'nodePort internal=Local external=Local',
    endpoints: ['a local ready', 'b ready'],
    cluster: 'a b',
    local: 'a',
    all: 'a b',
  },
  {
    title: 'with two local policies and endpoints on other nodes alone, clients on the node reach those',
    port: 'nodePort internal=Local external=Local',
    endpoints: ['a ready', 'b ready'],
    cluster: 'a b',
    all: 'a b',
  },
  {
    title: 'with two local policies, endpoints on other nodes that terminate are reached by clients on the node',
    port: 'nodePort internal=Local external=Local',
    endpoints: ['a draining', 'b draining'],
    cluster: 'a b',
    all: 'a b',
  },
  {
    title: 'a local endpoint that terminates is used where the node has no ready one',
    port: 'nodePort external=Local',
    endpoints: ['a local draining', 'b ready'],
    cluster: 'b',
    local: 'a',
    all: 'a b',
  },
  {
    title: 'a local external policy means nothing to a service that is only reachable inside',
    port: 'external=Local',
    endpoints: ['a local ready', 'b ready'],
    cluster: 'a b',
  },
  {
    title: 'a service that is only local inside has no endpoints of the cluster',
    port: 'internal=Local',
    endpoints: ['a local ready'],
    local: 'a',
  },
];

for (const {title, port: words = '', zone, endpoints, cluster = '', local = '', all = `${cluster}${local}`, elsewhere} of cases)
  test(title, t => {
    const found = reachableEndpoints(endpoints.map(endpointOf), portOf(words), {nodeName: 'n1', zone});
    const names = (list: readonly Endpoint[]) =>
      list
        .map(({address}) => address)
        .sort()
        .join(' ');

    t.is(names(found.cluster), cluster);
    t.is(names(found.local), local);
    t.is(names(found.all), all);
    t.is(found.hasAny, elsewhere ?? all !== '');
  });
