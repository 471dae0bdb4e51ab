import type * as upstream from '@kubernetes/client-node';
import {kind} from '#src/api/kind.js';
import type {Condition, Wire} from '#src/api/types.js';

/** A rule that taints devices. The conditions of its status came with release 1.35. */
export interface DeviceTaintRule extends Wire<upstream.V1alpha3DeviceTaintRule> {
  status?: {conditions?: Condition[]};
}

/** The kinds of the group; a version that is not the best one is named with its version. */
export const resourceKinds = {
  deviceClasses: kind<Wire<upstream.V1DeviceClass>>('resource', 'v1', 'DeviceClass', 'deviceclasses', false, '1.34'),
  deviceClassesV1beta2: kind<Wire<upstream.V1beta2DeviceClass>>('resource', 'v1beta2', 'DeviceClass', 'deviceclasses', false, '1.33'),
  deviceClassesV1beta1: kind<Wire<upstream.V1beta1DeviceClass>>('resource', 'v1beta1', 'DeviceClass', 'deviceclasses', false, '1.32'),
  resourceClaims: kind<Wire<upstream.ResourceV1ResourceClaim>>('resource', 'v1', 'ResourceClaim', 'resourceclaims', true, '1.34'),
  resourceClaimsV1beta2: kind<Wire<upstream.V1beta2ResourceClaim>>('resource', 'v1beta2', 'ResourceClaim', 'resourceclaims', true, '1.33'),
  resourceClaimsV1beta1: kind<Wire<upstream.V1beta1ResourceClaim>>('resource', 'v1beta1', 'ResourceClaim', 'resourceclaims', true, '1.32'),
  resourceClaimTemplates: kind<Wire<upstream.V1ResourceClaimTemplate>>(
    'resource',
    'v1',
    'ResourceClaimTemplate',
    'resourceclaimtemplates',
    true,
    '1.34',
  ),
  resourceClaimTemplatesV1beta2: kind<Wire<upstream.V1beta2ResourceClaimTemplate>>(
    'resource',
    'v1beta2',
    'ResourceClaimTemplate',
    'resourceclaimtemplates',
    true,
    '1.33',
  ),
  resourceClaimTemplatesV1beta1: kind<Wire<upstream.V1beta1ResourceClaimTemplate>>(
    'resource',
    'v1beta1',
    'ResourceClaimTemplate',
    'resourceclaimtemplates',
    true,
    '1.32',
  ),
  resourceSlices: kind<Wire<upstream.V1ResourceSlice>>('resource', 'v1', 'ResourceSlice', 'resourceslices', false, '1.34'),
  resourceSlicesV1beta2: kind<Wire<upstream.V1beta2ResourceSlice>>('resource', 'v1beta2', 'ResourceSlice', 'resourceslices', false, '1.33'),
  resourceSlicesV1beta1: kind<Wire<upstream.V1beta1ResourceSlice>>('resource', 'v1beta1', 'ResourceSlice', 'resourceslices', false, '1.32'),
  deviceTaintRules: kind<DeviceTaintRule>('resource', 'v1alpha3', 'DeviceTaintRule', 'devicetaintrules', false, '1.33'),
} as const;
