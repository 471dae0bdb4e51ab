import type * as upstream from '@kubernetes/client-node';
import {kind} from '#src/api/kind.js';
import type * as types from '#src/api/types.js';
import type {Wire} from '#src/api/types.js';

/** The kinds of the group; a version that is not the best one is named with its version. */
export const coordinationKinds = {
  leases: kind<types.Lease>('coordination', 'v1', 'Lease', 'leases', true),
  leaseCandidates: kind<Wire<upstream.V1beta1LeaseCandidate>>('coordination', 'v1beta1', 'LeaseCandidate', 'leasecandidates', true, '1.33'),
  leaseCandidatesV1alpha2: kind<Wire<upstream.V1alpha2LeaseCandidate>>(
    'coordination',
    'v1alpha2',
    'LeaseCandidate',
    'leasecandidates',
    true,
    '1.32',
  ),
} as const;
