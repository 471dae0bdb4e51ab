import {kind} from '#src/api/kind.js';
import type * as types from '#src/api/types.js';

/** The kinds of the group; a version that is not the best one is named with its version. */
export const storagemigrationKinds = {
  storageVersionMigrations: kind<types.StorageVersionMigration>(
    'storagemigration',
    'v1beta1',
    'StorageVersionMigration',
    'storageversionmigrations',
    false,
    '1.35',
  ),
} as const;
