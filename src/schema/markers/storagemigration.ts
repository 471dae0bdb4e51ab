import type {GroupMarkers} from './types.js';

/** The markers of `storagemigration`, which its field tables do not contain. */
export const storagemigration: GroupMarkers = {
  v1beta1: {
    StorageVersionMigration: {
      apiVersion: ':string',
      kind: ':string',
      metadata: ':meta/v1.ObjectMeta',
      spec: ':storagemigration/v1beta1.StorageVersionMigrationSpec',
      status: ':storagemigration/v1beta1.StorageVersionMigrationStatus',
    },
    StorageVersionMigrationList: {
      apiVersion: ':string',
      items: ':[]storagemigration/v1beta1.StorageVersionMigration required',
      kind: ':string',
      metadata: ':meta/v1.ListMeta',
    },
    StorageVersionMigrationSpec: {resource: ':meta/v1.GroupResource required'},
    StorageVersionMigrationStatus: {conditions: ':[]meta/v1.Condition map(type) patch=merge(type)', resourceVersion: ':string'},
  },
};
