import type * as upstream from '@kubernetes/client-node';
import {kind} from '#src/api/kind.js';
import type {Wire} from '#src/api/types.js';

/** The kinds of the group; a version that is not the best one is named with its version. */
export const internalApiserverKinds = {
  storageVersions: kind<Wire<upstream.V1alpha1StorageVersion>>(
    'internal.apiserver',
    'v1alpha1',
    'StorageVersion',
    'storageversions',
    false,
  ),
} as const;
