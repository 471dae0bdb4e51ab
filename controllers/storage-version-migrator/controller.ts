import {kinds} from '#src/api/kinds.js';
import {defineController} from '#src/runtime/controller.js';
import {migrationReconciler} from './reconcile.js';

/**
 * Has every object of a resource written anew that was there when a StorageVersionMigration was first looked at, so that all lie in the version that is
 * stored now (KEP-4192). Which versions a definition of custom resources says are stored is left to who asked.
 */
export default defineController({
  doc: 'Writes all objects of a resource anew, in the version that is stored now, where a StorageVersionMigration asks for it.',
  name: 'storage-version-migrator-controller',
  serviceAccount: 'storage-version-migrator-controller',
  // Each object is a request.
  clientLimits: {qpsFactor: 20, burstFactor: 100},
  primary: kinds.storageVersionMigrations,
  workers: 5,
  create: migrationReconciler,
});
