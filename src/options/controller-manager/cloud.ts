import {isIP} from 'node:net';
import {flagSection} from '#src/options/flag.js';
import type {Given} from '#src/options/flag.js';
import {validateDualStack} from '#src/options/rules.js';

const maskV4 = {type: 'int32', range: {min: 1, max: 32}} as const;
const maskV6 = {type: 'int32', range: {min: 1, max: 128}} as const;

/** Flags of the cloud provider and of node, pod and service IP ranges. */
export const cloud = flagSection('Cloud, CIDRs, routes', {
  'allocate-node-cidrs': {
    type: 'bool',
    help: 'Allocate a pod CIDR to each node, and configure it on the cloud provider. Requires --cluster-cidr.',
    requires: ['cluster-cidr'],
  },
  'cluster-cidr': {
    type: 'cidrs',
    help: 'The range pods get addresses from, or for dual stack two ranges of different families. Used only with --allocate-node-cidrs.',
  },
  'service-cluster-ip-range': {
    type: 'cidrs',
    help: 'The range services get addresses from, or for dual stack two. Used only with --allocate-node-cidrs.',
  },
  'cidr-allocator-type': {
    type: 'string',
    help: 'The allocator of pod CIDRs: RangeAllocator, or CloudAllocator for those of the cloud provider.',
    default: 'RangeAllocator',
    oneOf: ['RangeAllocator', 'CloudAllocator'],
  },
  'node-cidr-mask-size': {
    type: 'int32',
    range: {min: 0, max: 128},
    help: "The mask length of a node's range. 0 takes the default. Not for dual stack.",
    shownDefault: '24 (IPv4), 64 (IPv6)',
    excludes: ['node-cidr-mask-size-ipv4', 'node-cidr-mask-size-ipv6'],
  },
  'node-cidr-mask-size-ipv4': {...maskV4, help: "The mask length of a node's IPv4 range in a dual-stack cluster.", default: '24'},
  'node-cidr-mask-size-ipv6': {...maskV6, help: "The mask length of a node's IPv6 range in a dual-stack cluster.", default: '64'},
  'configure-cloud-routes': {
    type: 'bool',
    help: 'Set up routes for the ranges of nodes on the cloud provider.',
    default: 'true',
  },
  'cloud-provider': {
    type: 'string',
    help: 'The cloud provider: simulated (docs/simulation.md), external for one whose controllers run elsewhere, or empty for none.',
    shownDefault: 'empty',
    oneOf: ['', 'simulated', 'external'],
  },
  'cloud-config': {type: 'path', help: "The cloud provider's configuration file.", shownDefault: 'empty'},
  'external-cloud-volume-plugin': {
    type: 'string',
    help: 'The provider whose volumes and ranges of nodes are handled here when the cloud provider is external: simulated, or empty for none.',
    oneOf: ['', 'simulated'],
  },
  'cluster-name': {
    type: 'string',
    help: 'Prefix of the names of resources created on the cloud provider.',
    default: 'plat',
  },
});

interface CloudOptions {
  readonly allocateNodeCidrs: boolean;
  readonly clusterCidr: readonly string[];
  readonly serviceClusterIpRange: readonly string[];
}

const familyFlags = [
  [4, 'node-cidr-mask-size-ipv4'],
  [6, 'node-cidr-mask-size-ipv6'],
] as const;

/** Validates that mask sizes match the IP families of the cluster's ranges. */
export const validateNodeRanges = (options: CloudOptions, given: Given): string | undefined => {
  if (!options.allocateNodeCidrs) return undefined;
  const error =
    validateDualStack('cluster-cidr', options.clusterCidr) ?? validateDualStack('service-cluster-ip-range', options.serviceClusterIpRange);
  if (error) return error;
  if (options.clusterCidr.length > 1)
    return given.has('node-cidr-mask-size') ? '--node-cidr-mask-size cannot be used with two ranges in --cluster-cidr' : undefined;
  const families = options.clusterCidr.map(cidr => isIP(cidr.split('/')[0]!));
  const unused = familyFlags.find(([family, flag]) => given.has(flag) && !families.includes(family));
  return unused && `--${unused[1]} cannot be used without an IPv${unused[0]} range in --cluster-cidr`;
};
