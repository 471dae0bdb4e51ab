import {kinds} from '#src/api/kinds/index.js';
import {defineController} from '#src/runtime/controller.js';
import type {IpamOptions} from './plan.js';
import {nodeIpamReconciler} from './reconcile.js';

/**
 * Allocates each node a unique block of the cluster CIDRs. Allocations are read from the nodes at each start, and
 * stored nowhere else.
 */
export default defineController<IpamOptions>({
  doc: 'Allocates a pod CIDR to each node.',
  name: 'node-ipam-controller',
  serviceAccount: 'node-controller',
  eventSource: 'cidrAllocator',
  configuration: {
    NodeIPAMController: {
      ServiceCIDR: 'service-cluster-ip-range',
      NodeCIDRMaskSize: 'node-cidr-mask-size',
      NodeCIDRMaskSizeIPv4: 'node-cidr-mask-size-ipv4',
      NodeCIDRMaskSizeIPv6: 'node-cidr-mask-size-ipv6',
    },
  },
  flags: ['allocate-node-cidrs', 'cluster-cidr', 'cidr-allocator-type'],
  queue: {name: 'cidrallocator_node'},
  workers: 30,
  enabled: ({allocateNodeCidrs}) => (allocateNodeCidrs ? true : '--allocate-node-cidrs is off'),
  primary: kinds.nodes,
  create: nodeIpamReconciler,
});
