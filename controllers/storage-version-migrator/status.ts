import type {Frozen} from '#src/api/key.js';
import {copyOf} from '#src/api/key.js';
import {wireTime} from '#src/api/time.js';
import type {StorageVersionMigration} from '#src/api/kinds/storagemigration.js';

export type Stage = 'Running' | 'Succeeded' | 'Failed';

const reasons: Readonly<Record<Stage, string>> = {
  Running: 'StorageVersionMigrationInProgress',
  Succeeded: 'StorageVersionMigrationSucceeded',
  Failed: 'StorageVersionMigrationFailed',
};

export const isTrue = ({status}: Frozen<StorageVersionMigration>, stage: Stage): boolean =>
  (status?.conditions ?? []).some(({type, status: is}) => type === stage && is === 'True');

/** Returns the migration with a condition set. A finished one is no longer running. */
export const atStage = (migration: Frozen<StorageVersionMigration>, stage: Stage, now: number, message = ''): StorageVersionMigration => {
  const next = copyOf(migration) as StorageVersionMigration;
  const lastTransitionTime = wireTime(now);
  const conditions = (next.status?.conditions ?? [])
    .filter(({type}) => type !== stage)
    .map(condition =>
      condition.type === 'Running' && condition.status === 'True'
        ? {...condition, status: 'False' as const, lastTransitionTime}
        : condition,
    );
  next.status = {
    ...next.status,
    conditions: [...conditions, {type: stage, status: 'True', lastTransitionTime, reason: reasons[stage], message}],
  };
  return next;
};
