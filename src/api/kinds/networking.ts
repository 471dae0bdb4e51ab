import type * as upstream from '@kubernetes/client-node';
import {kind} from '#src/api/kind.js';
import type {Wire} from '#src/api/types.js';

/** The kinds of the group; a version that is not the best one is named with its version. */
export const networkingKinds = {
  ingressClasses: kind<Wire<upstream.V1IngressClass>>('networking', 'v1', 'IngressClass', 'ingressclasses', false),
  ingresses: kind<Wire<upstream.V1Ingress>>('networking', 'v1', 'Ingress', 'ingresses', true),
  ipAddresses: kind<Wire<upstream.V1IPAddress>>('networking', 'v1', 'IPAddress', 'ipaddresses', false, '1.33'),
  ipAddressesV1beta1: kind<Wire<upstream.V1beta1IPAddress>>('networking', 'v1beta1', 'IPAddress', 'ipaddresses', false, '1.31'),
  networkPolicies: kind<Wire<upstream.V1NetworkPolicy>>('networking', 'v1', 'NetworkPolicy', 'networkpolicies', true),
  serviceCIDRs: kind<Wire<upstream.V1ServiceCIDR>>('networking', 'v1', 'ServiceCIDR', 'servicecidrs', false, '1.33'),
  serviceCIDRsV1beta1: kind<Wire<upstream.V1beta1ServiceCIDR>>('networking', 'v1beta1', 'ServiceCIDR', 'servicecidrs', false, '1.31'),
} as const;
