import {kind} from '#src/api/kind.js';
import type {Condition, KubeObject} from '#src/api/types.js';

/** Rewrites stored objects of a resource in the current storage version (storagemigration v1beta1). */
export interface StorageVersionMigration extends KubeObject {
  spec: {resource: {group?: string; resource: string}};
  status?: {conditions?: Condition[]; resourceVersion?: string};
}

/** The kinds of the group; a version that is not the best one is named with its version. */
export const storagemigrationKinds = {
  storageVersionMigrations: kind<StorageVersionMigration>(
    'storagemigration',
    'v1beta1',
    'StorageVersionMigration',
    'storageversionmigrations',
    false,
    '1.35',
  ),
} as const;
