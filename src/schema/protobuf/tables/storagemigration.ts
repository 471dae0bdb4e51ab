import type {GroupTable} from './group-table.js';

/** The protobuf messages of `storagemigration`. */
export const storagemigration: GroupTable = {
  v1beta1: {
    StorageVersionMigration: '@1 metadata ObjectMeta; 2 spec StorageVersionMigrationSpec; 3 status StorageVersionMigrationStatus',
    StorageVersionMigrationList: '@1 metadata ListMeta; 2 items []StorageVersionMigration!',
    StorageVersionMigrationSpec: '1 resource GroupResource',
    StorageVersionMigrationStatus: '1 conditions []Condition; 2 resourceVersion string',
  },
};
