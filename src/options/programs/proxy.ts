import {isIP} from 'node:net';
import {naming} from '#src/api/naming.js';
import {flagSection, flagTable, type OptionsOf} from '#src/options/flag.js';
import {rates} from '#src/options/controller-manager/limits.js';
import {serverConnection} from '#src/options/shared/kubeconfig.js';
import {featureGates, help, logging, metrics, verbosity} from '#src/options/shared/logging.js';
import {clientNaming} from '#src/options/shared/naming.js';

const plat = naming('plat');

const {'plat-api-qps': qps, 'plat-api-burst': burst, 'plat-api-content-type': contentType} = rates.rows;

/** Flags that a configuration file replaces, whatever their values. */
const notWithFile = <const R extends {readonly help: string}>(row: R): NoInfer<R> => ({...row, help: `${row.help} Ignored with --config.`});

const noIpvs = {withoutEffect: 'there is no mode ipvs'} as const;

/** An address alone, an address with a port, or nothing. */
const validateBindAddress = (text: string): string | undefined => {
  if (text === '' || isIP(text) > 0) return undefined;
  const [, inBrackets, plain = '', port] = /^(?:\[([^\]]*)\]|([^:]*)):(\d+)$/.exec(text) ?? [];
  return isIP(inBrackets ?? plain) > 0 && Number(port) <= 65_535 ? undefined : `"${text}" is not in a valid format (ip or ip:port)`;
};

const general = flagSection('General', {
  config: {
    type: 'path',
    help: `The configuration file: a PlatProxyConfiguration of ${plat.prefix}proxy.${plat.group('config')}/v1alpha1, or the corresponding names of the kubernetes naming. The program ends when the file changes.`,
  },
  'write-config-to': {type: 'path', help: 'Write the configuration that the flags result in to this file, and exit.'},
  cleanup: {type: 'bool', help: 'Remove the rules of all modes, and exit.'},
  'init-only': {
    type: 'bool',
    help: 'Do what needs all privileges of root, and exit. After that the proxy can run with the capability CAP_NET_ADMIN alone.',
  },
  ...serverConnection,
  'hostname-override': {type: 'string', help: 'The name of the Node that the proxy runs on, instead of that of the host.'},
  ...clientNaming,
  ...help,
});

const clients = flagSection('Clients', {
  'plat-api-qps': notWithFile({...qps, default: '5'}),
  'plat-api-burst': notWithFile({...burst, default: '10'}),
  'plat-api-content-type': notWithFile(contentType),
  'config-sync-period': notWithFile({
    type: 'duration',
    help: 'How often everything that is known of the cluster is gone through again. Must be greater than 0.',
    default: '15m0s',
  }),
});

const serving = flagSection('Serving', {
  'bind-address': notWithFile({
    type: 'ip',
    help: 'The primary address of the node, instead of that of its Node. 0.0.0.0 and :: mean that of the Node; nothing is bound to it.',
    default: '0.0.0.0',
  }),
  'bind-address-hard-fail': notWithFile({type: 'bool', help: 'Exit if a port cannot be opened, instead of trying again.'}),
  'healthz-bind-address': notWithFile({
    type: 'string',
    label: 'ipport',
    help: 'The address and port of the health checks. Empty disables them.',
    default: '0.0.0.0:10256',
    check: validateBindAddress,
  }),
  'metrics-bind-address': notWithFile({
    type: 'string',
    label: 'ipport',
    help: 'The address and port of the metrics. Empty disables them.',
    default: '127.0.0.1:10249',
    check: validateBindAddress,
  }),
  'healthz-port': notWithFile({
    type: 'port',
    help: 'The port of the health checks. 0 disables them.',
    default: '10256',
    deprecated: 'This flag is deprecated and will be removed in a future release. Please use --healthz-bind-address instead.',
  }),
  'metrics-port': notWithFile({
    type: 'port',
    help: 'The port of the metrics. 0 disables them.',
    default: '10249',
    deprecated: 'This flag is deprecated and will be removed in a future release. Please use --metrics-bind-address instead.',
  }),
  profiling: notWithFile({type: 'bool', help: 'Serve profiles under /debug/pprof/ on the port of the metrics.'}),
  'show-hidden-metrics-for-version': notWithFile(metrics['show-hidden-metrics-for-version']),
});

const rules = flagSection('Rules', {
  'proxy-mode': notWithFile({
    type: 'string',
    label: 'ProxyMode',
    help: 'How services are routed: iptables, or nftables.',
    shownDefault: 'iptables',
  }),
  'cluster-cidr': notWithFile({
    type: 'string',
    help: 'The range of the addresses of pods, or one of each family, comma separated. With --detect-local-mode=ClusterCIDR, traffic from other sources to cluster IPs is masqueraded.',
  }),
  'detect-local-mode': notWithFile({
    type: 'string',
    label: 'LocalMode',
    help: 'How the traffic of pods of the node is told from other traffic: ClusterCIDR, NodeCIDR, BridgeInterface or InterfaceNamePrefix.',
    shownDefault: 'ClusterCIDR',
  }),
  'pod-bridge-interface': notWithFile({type: 'string', help: 'The bridge of the pods, with --detect-local-mode=BridgeInterface.'}),
  'pod-interface-name-prefix': notWithFile({
    type: 'string',
    help: 'What the names of the interfaces of pods begin with, with --detect-local-mode=InterfaceNamePrefix.',
  }),
  'masquerade-all': notWithFile({type: 'bool', help: 'Masquerade all traffic to cluster IPs.'}),
  'nodeport-addresses': notWithFile({
    type: 'strings',
    help: "Ranges of the node's addresses that take connections to node ports, or primary for those of the Node. Without the flag all do.",
  }),
  'iptables-localhost-nodeports': notWithFile({
    type: 'bool',
    help: 'Let node ports be reached by addresses of the loopback, in mode iptables and by IPv4.',
    default: 'true',
  }),
  'iptables-masquerade-bit': notWithFile({
    type: 'int32',
    help: 'The bit of the mark of packets to masquerade in mode iptables, from 0 to 31.',
    default: '14',
  }),
  'iptables-sync-period': notWithFile({
    type: 'duration',
    help: 'How often the rules are checked, and after how long a failed sync is tried again. Must be greater than 0.',
    default: '30s',
  }),
  'iptables-min-sync-period': notWithFile({
    type: 'duration',
    help: 'The least time between two syncs of the rules. 0 syncs after each change.',
    default: '1s',
  }),
});

const ipvs = flagSection('Mode ipvs', {
  'ipvs-sync-period': {...noIpvs, type: 'duration', help: 'How often the rules are checked.', default: '30s'},
  'ipvs-min-sync-period': {...noIpvs, type: 'duration', help: 'The least time between two syncs of the rules.', default: '1s'},
  'ipvs-scheduler': {...noIpvs, type: 'string', help: 'The scheduler.'},
  'ipvs-exclude-cidrs': {...noIpvs, type: 'strings', help: 'Ranges that a cleanup leaves alone.'},
  'ipvs-strict-arp': {...noIpvs, type: 'bool', help: 'Set arp_ignore to 1 and arp_announce to 2.'},
  'ipvs-tcp-timeout': {...noIpvs, type: 'duration', help: 'The timeout of idle TCP connections.'},
  'ipvs-tcpfin-timeout': {...noIpvs, type: 'duration', help: 'The timeout of TCP connections after a FIN.'},
  'ipvs-udp-timeout': {...noIpvs, type: 'duration', help: 'The timeout of UDP packets.'},
});

const machine = flagSection('Machine', {
  'oom-score-adj': notWithFile({
    type: 'int32',
    help: 'The oom_score_adj of the process, from -1000 to 1000.',
    default: '-999',
  }),
  'conntrack-max-per-core': notWithFile({
    type: 'int32',
    help: "The number of tracked connections for each CPU core. 0 leaves the kernel's limit, and --conntrack-min has no effect.",
    default: '32768',
  }),
  'conntrack-min': notWithFile({
    type: 'int32',
    help: 'The least number of tracked connections, however few cores there are.',
    default: '131072',
  }),
  'conntrack-tcp-timeout-established': notWithFile({
    type: 'duration',
    help: "The timeout of idle TCP connections. 0 leaves the kernel's.",
    default: '24h0m0s',
  }),
  'conntrack-tcp-timeout-close-wait': notWithFile({
    type: 'duration',
    help: 'The timeout of TCP connections in the state CLOSE_WAIT.',
    default: '1h0m0s',
  }),
  'conntrack-tcp-be-liberal': notWithFile({
    type: 'bool',
    help: 'Take packets of TCP outside of the window of their connection, by nf_conntrack_tcp_be_liberal.',
  }),
  'conntrack-udp-timeout': notWithFile({type: 'duration', help: "The timeout of UDP flows without answers. 0 leaves the kernel's."}),
  'conntrack-udp-timeout-stream': notWithFile({type: 'duration', help: "The timeout of UDP flows with answers. 0 leaves the kernel's."}),
  'boot-id-file': {
    type: 'string',
    help: 'Files to look for the boot id in.',
    default: '/proc/sys/kernel/random/boot_id',
    withoutEffect: 'nothing needs the boot id, as in the original',
  },
  'machine-id-file': {
    type: 'string',
    help: 'Files to look for the machine id in.',
    default: '/etc/machine-id,/var/lib/dbus/machine-id',
    withoutEffect: 'nothing needs the machine id, as in the original',
  },
});

const logs = flagSection('Logs and feature gates', {
  ...verbosity,
  ...logging,
  'log-json-split-stream': {
    type: 'bool',
    help: '[alpha] In JSON, write errors to standard error and everything else to standard output. Needs the gate LoggingAlphaOptions.',
    gate: 'LoggingAlphaOptions',
  },
  'log-json-info-buffer-size': {
    ...logging['log-text-info-buffer-size'],
    help: '[alpha] In JSON with split streams, the size of the buffer of info messages. 0 disables buffering. Needs the gate LoggingAlphaOptions.',
  },
  'feature-gates': notWithFile({
    ...featureGates['feature-gates'],
    label: 'key=True/False pairs',
    help: 'Feature gates to turn on or off, as Gate=true|false pairs, comma separated. Repeatable.',
  }),
});

/** The flags of `plat-proxy`. */
export const proxyFlags = flagTable({
  program: 'plat-proxy',
  summary: 'The service proxy of a node: routes traffic to the addresses and ports of services to their endpoints.',
  hasConfiguration: true,
  sections: [general, clients, serving, rules, machine, ipvs, logs],
});

export type ProxyOptions = OptionsOf<typeof proxyFlags>;
