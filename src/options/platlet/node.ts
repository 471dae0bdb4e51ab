import {isIP} from 'node:net';
import {labelKeyProblems, labelValueProblems} from '#src/api/names.js';
import {naming, type Naming} from '#src/api/naming.js';
import {isNodesOwnLabel, namedNodeLabels} from '#src/api/node/labels.js';
import {flagSection} from '#src/options/flag.js';
import {featureGates, help, logging, verbosity} from '#src/options/shared/logging.js';
import {clientNaming} from '#src/options/shared/naming.js';
import {inFile} from './markers.js';

const plat = naming('plat');

/** Checked in both namings, because the server's is not known yet. */
const validateLabels = (labels: ReadonlyMap<string, string>): string | undefined => {
  for (const each of (['plat', 'kubernetes'] as const).map(naming)) {
    const refused = [...labels.keys()].filter(label => !isNodesOwnLabel(label, each)).sort();
    if (refused.length > 0) return unknownLabels(refused, each);
  }
  for (const [key, value] of labels) {
    const problems = [...labelKeyProblems(key), ...labelValueProblems(value)];
    if (problems.length > 0) return `invalid node labels: ${key}=${value}: ${problems.join('; ')}`;
  }
  return undefined;
};

const unknownLabels = (labels: readonly string[], each: Naming): string => {
  const {domain, apiSuffix, agent} = each;
  const domains = [...new Set([domain, apiSuffix])].map(name => `'${name}'`).join(' or ');
  const prefixes = [`${agent}.${domain}`, `node.${domain}`].join(', ');
  return `unknown ${domains} labels specified with --node-labels: [${labels.join(' ')}]\n--node-labels in the '${domain}' namespace must begin with an allowed prefix (${prefixes}) or be in the specifically allowed set (${namedNodeLabels(each).join(', ')})`;
};

const validateAddresses = (addresses: readonly string[]): string | undefined => {
  if (addresses.length > 2) return 'must not hold more than two addresses';
  const [first, second] = addresses.map(address => isIP(address));
  return second !== undefined && first === second ? 'must hold addresses of different IP families' : undefined;
};

/** Flags of the node agent's files, container runtime, network and Node object. */
export const node = flagSection('Remaining node agent options', {
  config: {type: 'path', help: 'The configuration file. Flags take precedence.'},
  'config-dir': {
    type: 'path',
    help: 'A directory of files that are laid over the defaults and the file named by --config, in the order of their names.',
    shownDefault: 'empty',
  },
  'cloud-provider': {
    type: 'string',
    help: 'Empty for no cloud provider, "external" for one outside the agent.',
    oneOf: ['', 'external'],
  },
  'cluster-dns': {...inFile, type: 'ips', help: 'DNS servers for pods with dnsPolicy=ClusterFirst. All must serve the same records.'},
  'cluster-domain': {...inFile, type: 'string', help: 'The domain that is added to the search domains of containers.'},
  'resolv-conf': {...inFile, type: 'path', help: 'The resolver file on which those of containers are based.', default: '/etc/resolv.conf'},
  'container-runtime-endpoint': {
    ...inFile,
    type: 'string',
    help: "The runtime's endpoint: a unix socket here, npipe or tcp on the other operating system.",
    default: 'unix:///run/containerd/containerd.sock',
    shownDefault: 'unix:///run/<container_runtime>/<container_runtime>.sock',
  },
  'image-service-endpoint': {
    ...inFile,
    type: 'string',
    help: 'The endpoint of the image service.',
    shownDefault: 'same as runtime endpoint',
  },
  'cgroup-driver': {
    ...inFile,
    type: 'string',
    help: 'The cgroup driver: cgroupfs or systemd. What the runtime reports takes precedence.',
    default: 'cgroupfs',
    oneOf: ['cgroupfs', 'systemd'],
  },
  'cgroup-root': {...inFile, type: 'string', help: 'The cgroup under which pods run.', shownDefault: 'empty'},
  'cgroups-per-qos': {...inFile, type: 'bool', help: 'Create the cgroup hierarchy of QoS classes.', default: 'true'},
  'platlet-cgroups': {...inFile, type: 'string', help: "The absolute name of the agent's own cgroup."},
  'runtime-cgroups': {type: 'string', help: "The absolute name of the runtime's cgroup, which is measured."},
  'system-cgroups': {
    ...inFile,
    type: 'string',
    help: 'The absolute name of the cgroup for other processes outside the kernel. Needs --cgroup-root.',
  },
  'hairpin-mode': {
    ...inFile,
    withoutEffect: 'the network of pods is that of the container runtime, as in the original',
    type: 'string',
    help: 'Hairpin mode, which lets a pod reach itself through a service: promiscuous-bridge, hairpin-veth or none.',
    default: 'promiscuous-bridge',
    oneOf: ['promiscuous-bridge', 'hairpin-veth', 'none'],
  },
  'make-iptables-util-chains': {
    ...inFile,
    type: 'bool',
    help: 'Create the utility chains of iptables, where the machine has it, for the programs that look for them.',
    default: 'true',
  },
  'enable-controller-attach-detach': {...inFile, type: 'bool', help: 'Leave attaching volumes to the controller.', default: 'true'},
  'allowed-unsafe-sysctls': {...inFile, type: 'strings', help: 'Unsafe sysctls pods may set: names, or patterns that end in *.'},
  'protect-kernel-defaults': {
    ...inFile,
    type: 'bool',
    help: "Refuse to start when kernel parameters differ from the agent's defaults. Without it they are set.",
  },
  'kernel-memcg-notification': {
    ...inFile,
    type: 'bool',
    help: 'Use kernel notifications of memory thresholds beside polling. They need cgroups of version 1, and perl; with version 2 it has no effect.',
  },
  'pod-manifest-path': {
    ...inFile,
    type: 'path',
    help: 'A file with a static pod, or a directory of such files. Names that begin with a dot are left out.',
  },
  'manifest-url': {...inFile, type: 'url', help: 'A URL with more pods.'},
  'manifest-url-header': {
    ...inFile,
    type: 'multimap',
    help: 'Headers for that URL, as name:value pairs, comma separated. Repeatable; headers of one name are sent in order.',
  },
  runonce: {...inFile, type: 'bool', help: 'Refused, as by the original, which no longer exits once pods have been started.'},
  'pod-cidr': {
    ...inFile,
    type: 'cidr',
    help: 'The range for pods when the agent runs standalone. Of an IPv6 range at most 65536 addresses are used.',
  },
  'register-node': {...inFile, type: 'bool', help: 'Register the node with the API server.', default: 'true'},
  'register-with-taints': {
    ...inFile,
    type: 'taints',
    help: 'Taints the node registers with, as <key>=<value>:<effect>, comma separated. No effect without --register-node.',
  },
  'hostname-override': {type: 'string', help: "The name of the node instead of the host's."},
  'node-ip': {
    type: 'ips',
    help: 'The address of the node, or one of each family. Unset takes the host\'s default IPv4 address, else its IPv6 address; "::" prefers IPv6.',
    label: 'string',
    check: validateAddresses,
  },
  'node-labels': {
    type: 'map',
    help: `Labels the node registers with. Those of ${plat.domain} must be under ${plat.agent}.${plat.domain} or node.${plat.domain}, or one of ${namedNodeLabels(plat).join(', ')}.`,
    check: validateLabels,
  },
  'provider-id': {type: 'string', help: 'Identifier of the node at the cloud provider.'},
  'root-dir': {
    type: 'path',
    help: "The directory of the agent's files, volume mounts among them.",
    default: '/var/lib/platlet',
  },
  'volume-plugin-dir': {
    ...inFile,
    withoutEffect: 'volumes of such plugins (flexVolume) are refused',
    type: 'path',
    help: 'The directory searched for volume plugins of third parties.',
    default: '/usr/libexec/plat/platlet-plugins/volume/exec/',
  },
  'lock-file': {type: 'path', help: '[alpha] The file the agent locks. It waits for a process that has it locked.'},
  'exit-on-lock-contention': {
    type: 'bool',
    help: 'Exit when another process wants the lock file.',
    requires: ['lock-file'],
  },
  'experimental-allocatable-ignore-eviction': {
    type: 'bool',
    help: 'Ignore hard eviction thresholds when calculating the allocatable resources of the node.',
    default: 'false',
    deprecated: 'it will be removed',
  },
  'experimental-mounter-path': {
    type: 'path',
    help: 'A mounter program with an image of its own: rootfs/etc/resolv.conf beside it gets the DNS servers of the cluster. It mounts no volumes: the original uses it for those of nfs, glusterfs, ceph and cifs alone, which only CSI drivers mount here.',
    deprecated: 'it will be removed',
  },
  'seccomp-default': {type: 'bool', help: "Give all workloads the runtime's own seccomp profile (RuntimeDefault)."},
  'contention-profiling': {...inFile, type: 'bool', help: 'Enable block profiling.'},
  ...verbosity,
  'logging-format': {...logging['logging-format'], ...inFile},
  'log-flush-frequency': logging['log-flush-frequency'],
  'log-text-info-buffer-size': {...logging['log-text-info-buffer-size'], ...inFile},
  'log-text-split-stream': {...logging['log-text-split-stream'], ...inFile},
  'feature-gates': {
    ...featureGates['feature-gates'],
    ...inFile,
    label: 'key=True/False pairs',
    help: 'Feature gates to turn on or off, as Gate=true|false pairs, comma separated. Repeatable.',
  },
  ...clientNaming,
  ...help,
});
