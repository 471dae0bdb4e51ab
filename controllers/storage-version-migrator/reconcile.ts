import {kinds} from '#src/api/kinds/index.js';
import {settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';
import {MigrationFailure, Migrator, type Migration} from './migrator.js';
import {atStage, isTrue} from './status.js';

/**
 * Processes one migration: first records the resource version up to which objects are migrated, then rewrites them,
 * then sets the result.
 */
export const migrationReconciler = ({lister, writer, client, clock, naming, name: manager}: KeyedContext): Reconcile => {
  const migrations = lister(kinds.storageVersionMigrations);
  const {updateStatus} = writer(kinds.storageVersionMigrations);
  const migrator = new Migrator({client, clock, naming, manager, updateStatus});

  return async ({name}, attempt) => {
    const migration = migrations.get(name);
    if (!migration || isTrue(migration, 'Succeeded') || isTrue(migration, 'Failed')) return settled;
    const until = migration.status?.resourceVersion;
    let newest: Migration = migration;
    try {
      if (!until) await migrator.begin(migration);
      else {
        if (!isTrue(migration, 'Running')) newest = await updateStatus(atStage(migration, 'Running', clock.now()));
        await migrator.migrate(newest, Number(until), attempt);
      }
    } catch (error) {
      if (!(error instanceof MigrationFailure)) throw error;
      await updateStatus(atStage(newest, 'Failed', clock.now(), error.message));
    }
    return settled;
  };
};
