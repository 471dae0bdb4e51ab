import {kinds} from '#src/api/kinds/index.js';
import {defineController} from '#src/runtime/controller.js';
import {migrationReconciler} from './reconcile.js';

/**
 * Rewrites all objects of a resource that existed when a StorageVersionMigration was first processed, so that all are
 * stored in the current storage version (KEP-4192). Updating the stored versions of a definition is left to the client.
 */
export default defineController({
  doc: 'Rewrites all objects of the resource of a StorageVersionMigration in the current storage version.',
  name: 'storage-version-migrator-controller',
  serviceAccount: 'storage-version-migrator-controller',
  // One request for each object.
  clientLimits: {qpsFactor: 20, burstFactor: 100},
  primary: kinds.storageVersionMigrations,
  workers: 5,
  create: migrationReconciler,
});
