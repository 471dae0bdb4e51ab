import {flagSection} from '#src/options/flag.js';
import {validateDualStack, validateServiceRange} from '#src/options/rules.js';

const addressTypes = ['Hostname', 'InternalDNS', 'InternalIP', 'ExternalDNS', 'ExternalIP'] as const;

/** Flags of service IPs and ports, default tolerations, and connections to node agents. */
export const cluster = flagSection('Services, nodes and scheduling defaults', {
  'service-cluster-ip-range': {
    type: 'cidrs',
    help: 'The range, or for dual stack the two ranges of different families, from which services get their cluster IPs. Must not overlap with ranges of nodes or pods.',
  },
  'service-node-port-range': {
    type: 'portRange',
    help: 'The range of ports for services of type NodePort, inclusive. Must not overlap with the ephemeral ports of nodes.',
    default: '30000-32767',
    check: ({from}: {readonly from: number}) => (from > 0 ? undefined : 'must not begin at port 0'),
  },
  'plat-service-node-port': {
    type: 'port',
    help: 'If not 0, the master service is of type NodePort and takes this port; otherwise it is of type ClusterIP.',
    default: '0',
  },
  'endpoint-reconciler-type': {
    type: 'string',
    help: 'How the endpoints of the kubernetes service are maintained: master-count (deprecated), lease or none.',
    default: 'lease',
    oneOf: ['master-count', 'lease', 'none'],
    deprecatedValues: {'master-count': 'use lease instead'},
  },
  'default-not-ready-toleration-seconds': {
    type: 'int',
    help: 'The tolerationSeconds of the toleration for notReady:NoExecute that is added to pods without one.',
    default: '300',
  },
  'default-unreachable-toleration-seconds': {
    type: 'int',
    help: 'The tolerationSeconds of the toleration for unreachable:NoExecute that is added to pods without one.',
    default: '300',
  },
  'allow-privileged': {type: 'bool', help: 'Allow privileged containers.', default: 'false'},
  'platlet-certificate-authority': {type: 'path', help: 'The CA file for connections to node agents.'},
  'platlet-client-certificate': {
    type: 'path',
    help: 'The client certificate for connections to node agents.',
    requires: ['platlet-client-key'],
  },
  'platlet-client-key': {
    type: 'path',
    help: 'The client key for connections to node agents.',
    requires: ['platlet-client-certificate'],
  },
  'platlet-preferred-address-types': {
    type: 'strings',
    help: 'The ordered list of node address types for connections to node agents.',
    default: 'Hostname,InternalDNS,InternalIP,ExternalDNS,ExternalIP',
    oneOf: addressTypes,
  },
  'platlet-timeout': {
    type: 'duration',
    help: 'How long an operation of a node agent may take.',
    default: '5s',
    range: {above: '0'},
  },
});

interface ClusterOptions {
  readonly serviceClusterIpRange: readonly string[];
  readonly serviceNodePortRange: {readonly from: number; readonly to: number};
  readonly platServiceNodePort: number;
}

/** Validates the service IP ranges, and that the master service's port is a node port. */
export const validateServiceRanges = ({
  serviceClusterIpRange,
  serviceNodePortRange: {from, to},
  platServiceNodePort: port,
}: ClusterOptions): string | undefined => {
  const outside = port !== 0 && (port < from || port > to);
  return outside
    ? `--plat-service-node-port ${port} is not in --service-node-port-range ${from}-${to}`
    : (validateDualStack('service-cluster-ip-range', serviceClusterIpRange) ??
        validateServiceRange('service-cluster-ip-range', serviceClusterIpRange));
};
