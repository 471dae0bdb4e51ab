import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Node} from '#src/api/types.js';
import {roundResourceLists} from '#src/model/resource-list-defaults.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource, type Column, type HookContext} from '#src/resources/definition.js';
import {rangeWarnings} from '#src/resources/validation/ip-fields.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {validateNode, validateNodeUpdate} from './node-validation.js';
import {nodeConnectSubresources} from './connect/node.js';

/**
 * Aligns the single pod range with the list of ranges; the single one wins, since older clients do not know the list.
 */
const alignRanges = ({spec}: Node): void => {
  if (!spec) return;
  const {podCIDR, podCIDRs} = spec;
  if (podCIDR && podCIDRs?.[0] !== podCIDR) spec.podCIDRs = [podCIDR];
  else if (!podCIDR && podCIDRs?.[0]) spec.podCIDR = podCIDRs[0];
};

const statusText = ({spec, status}: Readonly<Node>): string => {
  const ready = status?.conditions?.find(({type}) => type === 'Ready');
  const text = !ready ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady';
  return spec?.unschedulable ? `${text},SchedulingDisabled` : text;
};

const rolesText = ({metadata}: Readonly<Node>, naming: Naming): string => {
  const prefix = naming.subKey('node-role', '');
  const roles = Object.entries(metadata?.labels ?? {}).flatMap(([key, value]) => {
    if (key.startsWith(prefix)) return key.slice(prefix.length) || [];
    return key === naming.key('role') && value ? value : [];
  });
  return [...new Set(roles)].sort().join(',') || '<none>';
};

const address = (type: string) => (node: Readonly<Node>) => node.status?.addresses?.find(found => found.type === type)?.address ?? '<none>';

const columns: readonly Column<Node>[] = [
  nameColumn,
  {name: 'Status', description: 'The status of the node', of: statusText},
  {name: 'Roles', description: 'The roles of the node', of: (node, _now, naming) => rolesText(node, naming)},
  ageColumn,
  {name: 'Version', description: 'The version of the node agent.', of: ({status}) => status?.nodeInfo?.kubeletVersion ?? ''},
  {name: 'Internal-IP', description: 'The address that the cluster reaches the node at.', priority: 1, of: address('InternalIP')},
  {name: 'External-IP', description: 'The address that the world reaches the node at.', priority: 1, of: address('ExternalIP')},
  {
    name: 'OS-Image',
    description: 'The operating system of the node.',
    priority: 1,
    of: ({status}) => status?.nodeInfo?.osImage || '<unknown>',
  },
  {
    name: 'Kernel-Version',
    description: 'The kernel of the node.',
    priority: 1,
    of: ({status}) => status?.nodeInfo?.kernelVersion || '<unknown>',
  },
  {
    name: 'Container-Runtime',
    description: 'What runs the containers of the node, and its version.',
    priority: 1,
    of: ({status}) => status?.nodeInfo?.containerRuntimeVersion || '<unknown>',
  },
];

const dropDisabled = ({spec, status}: Node, old: Readonly<Node> | undefined, {gate}: HookContext): void => {
  // Dynamic configuration is dropped unless the stored node uses it.
  if (!old?.spec?.configSource) delete spec?.configSource;
  if (!old) delete status?.config;
  if (!gate('NodeDeclaredFeatures') && !old?.status?.declaredFeatures) delete status?.declaredFeatures;
};

function* warnings({spec = {}}: Readonly<Node>, _old: unknown, {naming}: HookContext): Iterable<string> {
  if (spec.configSource) yield 'spec.configSource: the feature is removed';
  if (spec.externalID) yield `spec.externalID: this field is deprecated, and is unused by ${naming.inWords('Kubernetes')}`;
  for (const [i, range] of (spec.podCIDRs ?? []).entries()) yield* rangeWarnings(`spec.podCIDRs[${i}]`, range, naming);
}

const nothingReported = {
  daemonEndpoints: {kubeletEndpoint: {Port: 0}},
  nodeInfo: {
    machineID: '',
    systemUUID: '',
    bootID: '',
    kernelVersion: '',
    osImage: '',
    containerRuntimeVersion: '',
    kubeletVersion: '',
    kubeProxyVersion: '',
    operatingSystem: '',
    architecture: '',
  },
};

/** Node: a machine that runs pods. Its agent registers it and updates its status. */
export const nodes = defineResource<Node>({
  kind: kinds.nodes,
  discovery: {shortNames: ['no']},
  storage: {path: 'minions', alwaysPresent: {spec: {}, status: nothingReported}},
  metadata: {nameProblems: subdomainName},
  default(node) {
    alignRanges(node);
    const {status} = node;
    if (status?.capacity && !status.allocatable) status.allocatable = {...status.capacity};
    roundResourceLists(status?.capacity, status?.allocatable);
  },
  main: {
    metadata: 'both',
    writes: {create: ['metadata', 'spec', 'status'], update: ['metadata', 'spec'], owned: ['metadata', 'spec']},
    prepare: dropDisabled,
    *validate(node, old, context) {
      yield* validateNode(node, context);
      if (old) yield* validateNodeUpdate(node, old, context);
    },
    warn: warnings,
  },
  subresources: {
    status: {
      writes: {update: ['metadata', 'status']},
      prepare({status}, old) {
        if (status && !old?.status?.config) delete status.config;
      },
      validate: (node, old, context) => validateNodeUpdate(node, old!, context),
    },
  },
  connectSubresources: nodeConnectSubresources,
  selection: {fields: {'spec.unschedulable': ({spec}) => String(spec?.unschedulable ?? false)}},
  presentation: {columns},
});
