import type * as upstream from '@kubernetes/client-node';
import {kind} from '#src/api/kind.js';
import type {Wire} from '#src/api/types.js';

/** The kinds of the group; a version that is not the best one is named with its version. */
export const discoveryKinds = {
  endpointSlices: kind<Wire<upstream.V1EndpointSlice>>('discovery', 'v1', 'EndpointSlice', 'endpointslices', true),
} as const;
