import {naming} from '#src/api/naming.js';
import {flagSection} from '#src/options/flag.js';
import {inFile} from './markers.js';

/** These flags and values also have aliases with upstream's prefix. */
const original = naming('kubernetes').component;

const enforceable: readonly string[] = [
  'none',
  'pods',
  'system-reserved',
  'system-reserved-compressible',
  'plat-reserved',
  'plat-reserved-compressible',
  original('reserved'),
  original('reserved-compressible'),
];

const memoryReservation = /^\d+:[^=,;]+=[^=,;]+(?:,[^=,;]+=[^=,;]+)*(?:;\d+:[^=,;]+=[^=,;]+(?:,[^=,;]+=[^=,;]+)*)*$/;

const validateMemoryReservations = (items: readonly string[]): string | undefined => {
  const invalid = items.find(item => !memoryReservation.test(item));
  return invalid === undefined ? undefined : `"${invalid}" must be formatted as node:type=quantity,...`;
};

/** Flags of reserved resources and of CPU, memory and topology management. */
export const resources = flagSection('Limits, rates, timeouts', {
  'plat-reserved': {
    ...inFile,
    type: 'map',
    help: "Resources (cpu, memory, pid, ephemeral-storage) kept for the platform's own components, for example cpu=200m,memory=500Mi.",
    shownDefault: 'none',
    aliases: [original('reserved')],
  },
  'system-reserved': {...inFile, type: 'map', help: 'Resources kept for everything else on the node.', shownDefault: 'none'},
  'plat-reserved-cgroup': {
    ...inFile,
    type: 'string',
    help: "The top-level cgroup of the platform's own components.",
    shownDefault: 'empty',
    aliases: [original('reserved-cgroup')],
  },
  'system-reserved-cgroup': {
    ...inFile,
    type: 'string',
    help: 'The top-level cgroup of everything else on the node.',
    shownDefault: 'empty',
  },
  'enforce-node-allocatable': {
    ...inFile,
    type: 'strings',
    help: `The parts of the node whose limits are enforced: ${enforceable.join(', ')}. Reserved shares need their cgroup flag; nothing goes beside none.`,
    default: 'pods',
    oneOf: enforceable,
  },
  'reserved-cpus': {
    ...inFile,
    type: 'string',
    help: 'CPUs kept for the system and the platform, for example 0-3,7. Takes precedence over the counts in the reserved flags.',
    check: (list: string) => (/^(?:\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)?$/.test(list) ? undefined : 'must be a list of CPUs such as 0-3,7'),
  },
  'reserved-memory': {
    ...inFile,
    type: 'each',
    label: 'list',
    help: 'Memory kept on each NUMA node, as node:type=quantity,...;node:... The sum of a type must be what the reserved flags and the eviction threshold add up to.',
    check: validateMemoryReservations,
  },
  'qos-reserved': {
    ...inFile,
    type: 'map',
    help: '[alpha] The percentage of memory reserved for each QoS class, for example memory=50%. Needs the gate QOSReserved.',
    gate: 'QOSReserved',
  },
  'cpu-cfs-quota': {...inFile, type: 'bool', help: 'Enforce CPU limits of containers by CFS quota.', default: 'true'},
  'cpu-cfs-quota-period': {
    ...inFile,
    type: 'duration',
    help: 'The period of that quota, from 1ms to 1s. Values other than 100ms need the gate CustomCPUCFSQuotaPeriod.',
    default: '100ms',
    range: {min: '1ms', max: '1s'},
  },
  'cpu-manager-policy': {
    ...inFile,
    type: 'string',
    help: 'The policy for allocating CPUs: none or static.',
    default: 'none',
    oneOf: ['none', 'static'],
  },
  'cpu-manager-policy-options': {...inFile, type: 'map', help: 'Options of that policy, as key=value pairs.'},
  'cpu-manager-reconcile-period': {
    ...inFile,
    type: 'duration',
    help: '[alpha] Period of the reconciliation of allocated CPUs.',
    default: '10s',
    range: {above: '0'},
  },
  'memory-manager-policy': {
    ...inFile,
    type: 'string',
    help: 'The policy for allocating memory: None or Static.',
    default: 'None',
    oneOf: ['None', 'Static'],
  },
  'topology-manager-policy': {
    ...inFile,
    type: 'string',
    help: 'How resources are aligned: none, best-effort, restricted or single-numa-node.',
    default: 'none',
    oneOf: ['none', 'best-effort', 'restricted', 'single-numa-node'],
  },
  'topology-manager-policy-options': {...inFile, type: 'map', help: 'Options of that policy, as key=value pairs.'},
  'topology-manager-scope': {
    ...inFile,
    type: 'string',
    help: 'The scope of the alignment: container or pod.',
    default: 'container',
    oneOf: ['container', 'pod'],
  },
  'oom-score-adj': {
    ...inFile,
    type: 'int32',
    help: "The agent's own oom_score_adj. From -1000 to 1000.",
    default: '-999',
    range: {min: -1000, max: 1000},
  },
  'fail-swap-on': {...inFile, type: 'bool', help: 'Refuse to start when swap is on.', default: 'true'},
  'fail-cgroupv1': {type: 'bool', help: 'Refuse to start on a host with cgroup v1.', default: 'true'},
  'local-storage-capacity-isolation': {...inFile, type: 'bool', help: 'Enforce limits of local ephemeral storage.', default: 'true'},
});
