import {rates} from '#src/options/controller-manager/limits.js';
import {flagSection, flagTable} from '#src/options/flag.js';
import type {OptionsOf} from '#src/options/flag.js';
import {serverConnection} from '#src/options/shared/kubeconfig.js';
import {featureGates, help, logging, verbosity} from '#src/options/shared/logging.js';
import {clientNaming} from '#src/options/shared/naming.js';

const {'plat-api-qps': qps, 'plat-api-burst': burst, 'plat-api-content-type': contentType} = rates.rows;

const address = /^(?:\[[0-9a-fA-F:.]+\]|[^:[\]]*):\d{1,5}$/;

const pageAddress = <const D extends string>(text: D, page: string) =>
  ({
    type: 'string',
    label: 'HOST:PORT',
    help: `Where ${page} is served over HTTP. Without a host, at all addresses; an empty text opens no port.`,
    default: text,
    check: (given: string) =>
      given === '' || (address.test(given) && Number(given.slice(given.lastIndexOf(':') + 1)) <= 65_535)
        ? undefined
        : 'must be empty or HOST:PORT, such as 127.0.0.1:8080 or :8080',
  }) as const;

const names = flagSection('Names', {
  'cluster-domain': {type: 'string', help: "The cluster's domain, as the node agents have it.", default: 'cluster.local'},
  ttl: {
    type: 'duration',
    help: "How long clients may keep the cluster's records, in whole seconds.",
    default: '5s',
    range: {min: '0', max: '1h0m0s'},
  },
  pods: {
    type: 'string',
    help: 'How names of pods, such as 10-244-1-5.default.pod.cluster.local, are answered: by the address that they spell (insecure), only if a pod of the namespace has it (verified; all pods of the cluster are then watched), or not at all (disabled).',
    default: 'insecure',
    oneOf: ['disabled', 'insecure', 'verified'],
  },
});

const forwarding = flagSection('Forwarding', {
  forward: {
    type: 'strings',
    help: 'The resolvers for names outside of the cluster: addresses, with or without a port, and files that name resolvers, which are followed. Without any, such names are refused.',
    default: '/etc/resolv.conf',
  },
  'forward-policy': {
    type: 'string',
    help: 'The order in which resolvers are asked.',
    default: 'random',
    oneOf: ['random', 'round_robin', 'sequential'],
  },
  'forward-max-concurrent': {
    type: 'int32',
    help: 'The number of queries that wait for resolvers at once. More are refused.',
    default: '1000',
    range: {min: 1},
  },
  'cache-ttl': {
    type: 'duration',
    help: 'How long responses of resolvers are cached at most, in whole seconds; 0 for not at all. What belongs to the cluster is not cached.',
    default: '30s',
    range: {min: '0'},
  },
});

const listening = flagSection('Listening', {
  'bind-address': {
    type: 'ips',
    help: 'The addresses to listen at, by UDP and TCP. 0.0.0.0 and :: stand for all that this host has, which are followed.',
    shownDefault: 'all addresses of this host',
  },
  port: {type: 'port', help: 'The port to listen at. 0 selects a free one for each address.', default: '53'},
  'max-udp-size': {
    type: 'int32',
    help: 'The largest message by UDP, whatever a client takes. Larger ones are truncated, and asked for again by TCP.',
    default: '1232',
    range: {min: 512, max: 65_535},
  },
  'max-tcp-connections': {
    type: 'int32',
    help: 'The number of connections at each address. A new one takes the place of an idle one of the peer with the most.',
    default: '500',
    range: {min: 1},
  },
  'tcp-idle-timeout': {
    type: 'duration',
    help: 'How long a connection may be silent.',
    default: '10s',
    range: {above: '0'},
  },
  'health-address': pageAddress(':8080', '/health, which tells that the process is alive,'),
  'ready-address': pageAddress(':8181', '/ready, which tells that the whole cluster is known,'),
  'metrics-address': pageAddress(':9153', '/metrics'),
  lameduck: {
    type: 'duration',
    help: 'How long queries are still answered after the signal to stop, while clients turn to other servers.',
    default: '0s',
    range: {min: '0'},
  },
});

const connection = flagSection('Connection and misc', {
  ...serverConnection,
  platconfig: {...serverConnection.platconfig, shownDefault: 'the service account of the pod'},
  ...clientNaming,
  'plat-api-qps': qps,
  'plat-api-burst': burst,
  'plat-api-content-type': contentType,
  ...featureGates,
  ...help,
  ...verbosity,
  ...logging,
});

/** The flags of `plat-dns`. */
export const dnsFlags = flagTable({
  program: 'plat-dns',
  summary:
    "The DNS server of a cluster: answers for services and pods by the cluster's objects, and forwards other names to the host's resolvers.",
  sections: [names, forwarding, listening, connection],
  rules: [],
});

export type DnsOptions = OptionsOf<typeof dnsFlags>;
