import {kinds} from '#src/api/kinds/index.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource} from '#src/resources/definition.js';
import {immutableInternal} from '#src/resources/validation/equality.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {sameFieldsVersion} from '#src/resources/versions.js';
import {adminAccess, mayAllocateToAdmin} from './admin-access.js';
import {
  defaultClaimSpec,
  defaultTolerations,
  dropDisabledClaimFields,
  readyForClaim,
  validateClaimSpec,
  type ResourceClaim,
} from './claim-spec.js';
import {dropDeallocated, dropDisabledStatusFields, validateClaimStatus} from './claim-status.js';
import {flatRequests} from './older-versions.js';

const stateOf = ({metadata, status}: Readonly<ResourceClaim>): string => {
  const states = metadata?.deletionTimestamp ? ['deleted'] : [];
  if (status?.allocation) states.push('allocated', ...((status.reservedFor ?? []).length > 0 ? ['reserved'] : []));
  else if (states.length === 0) states.push('pending');
  return states.join(',');
};

/** ResourceClaim: a request for devices, which the scheduler allocates. Its spec is immutable. */
export const resourceClaims = defineResource<ResourceClaim>({
  kind: kinds.resourceClaims,
  served: {
    otherVersions: [
      sameFieldsVersion<ResourceClaim>(kinds.resourceClaimsV1beta2),
      flatRequests<ResourceClaim>(kinds.resourceClaimsV1beta1, 'spec.devices.requests'),
    ],
  },
  storage: {alwaysPresent: {spec: {devices: {requests: null}}, status: {}}},
  metadata: {nameProblems: subdomainName},
  ready: ({spec}) => readyForClaim(spec),
  default(claim) {
    const spec = (claim.spec ??= {});
    spec.devices ??= {};
    defaultClaimSpec(spec);
    for (const {tolerations} of claim.status?.allocation?.devices?.results ?? []) defaultTolerations(tolerations);
  },
  allocation: {allocate: adminAccess<ResourceClaim>(kinds.resourceClaims, ({spec}) => spec)},
  main: {
    metadata: 'both',
    writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
    prepare({spec}, old, {gate}) {
      dropDisabledClaimFields(spec, old?.spec, gate);
    },
    *validate({spec}, old, context) {
      if (old) yield* immutableInternal('spec', 'ResourceClaimSpec', spec, old.spec);
      else yield* validateClaimSpec(spec, 'spec', context);
    },
  },
  subresources: {
    status: {
      hasNoTable: true,
      writes: {update: ['status']},
      prepare(claim, old, {gate}) {
        dropDisabledStatusFields(claim, old, gate);
        if (claim.status) dropDeallocated(claim.status, old?.status);
      },
      validate: validateClaimStatus,
      authorize: mayAllocateToAdmin,
    },
  },
  deletion: {response: 'object'},
  presentation: {
    columns: [
      nameColumn,
      {name: 'State', description: 'A summary of the current state (allocated, pending, reserved, etc.).', of: stateOf},
      ageColumn,
    ],
  },
});
