import type * as upstream from '@kubernetes/client-node';
import {kind} from '#src/api/kind.js';
import type {Wire} from '#src/api/types.js';

/** The kinds of the group; a version that is not the best one is named with its version. */
export const resourceKinds = {
  deviceClasses: kind<Wire<upstream.V1DeviceClass>>('resource', 'v1', 'DeviceClass', 'deviceclasses', false),
  deviceClassesV1beta2: kind<Wire<upstream.V1beta2DeviceClass>>('resource', 'v1beta2', 'DeviceClass', 'deviceclasses', false),
  deviceClassesV1beta1: kind<Wire<upstream.V1beta1DeviceClass>>('resource', 'v1beta1', 'DeviceClass', 'deviceclasses', false),
  resourceClaims: kind<Wire<upstream.ResourceV1ResourceClaim>>('resource', 'v1', 'ResourceClaim', 'resourceclaims', true),
  resourceClaimsV1beta2: kind<Wire<upstream.V1beta2ResourceClaim>>('resource', 'v1beta2', 'ResourceClaim', 'resourceclaims', true),
  resourceClaimsV1beta1: kind<Wire<upstream.V1beta1ResourceClaim>>('resource', 'v1beta1', 'ResourceClaim', 'resourceclaims', true),
  resourceClaimTemplates: kind<Wire<upstream.V1ResourceClaimTemplate>>('resource', 'v1', 'ResourceClaimTemplate', 'resourceclaimtemplates', true),
  resourceClaimTemplatesV1beta2: kind<Wire<upstream.V1beta2ResourceClaimTemplate>>('resource', 'v1beta2', 'ResourceClaimTemplate', 'resourceclaimtemplates', true),
  resourceClaimTemplatesV1beta1: kind<Wire<upstream.V1beta1ResourceClaimTemplate>>('resource', 'v1beta1', 'ResourceClaimTemplate', 'resourceclaimtemplates', true),
  resourceSlices: kind<Wire<upstream.V1ResourceSlice>>('resource', 'v1', 'ResourceSlice', 'resourceslices', false),
  resourceSlicesV1beta2: kind<Wire<upstream.V1beta2ResourceSlice>>('resource', 'v1beta2', 'ResourceSlice', 'resourceslices', false),
  resourceSlicesV1beta1: kind<Wire<upstream.V1beta1ResourceSlice>>('resource', 'v1beta1', 'ResourceSlice', 'resourceslices', false),
  deviceTaintRules: kind<Wire<upstream.V1alpha3DeviceTaintRule>>('resource', 'v1alpha3', 'DeviceTaintRule', 'devicetaintrules', false),
} as const;
