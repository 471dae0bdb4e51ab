import type {Ago} from '#src/api/duration.js';
import {parseTime} from '#src/api/time.js';
import type {KubeObject} from '#src/api/types.js';
import type {Column} from './definition.js';

// Columns that many tables share.

/** Formats the age of a time for tables. */
export const since = (time: string | undefined | null, ago: Ago): string => {
  const at = parseTime(time ?? undefined);
  return at === undefined ? '<unknown>' : ago(at);
};

/** The first column of every table. */
export const nameColumn: Column<KubeObject> = {
  name: 'Name',
  format: 'name',
  description: 'What the object is called; unique among the objects of its kind, within its namespace if it has one.',
  of: object => object.metadata?.name ?? '',
};

export const ageColumn: Column<KubeObject> = {
  name: 'Age',
  description: 'How long ago the object was created, by the clock of the server.',
  of: (object, ago) => since(object.metadata?.creationTimestamp, ago),
};

/** The second column of kinds without columns of their own. */
export const createdAtColumn: Column<KubeObject> = {
  name: 'Created At',
  type: 'date',
  description: 'When the object was created, by the clock of the server.',
  of: object => object.metadata?.creationTimestamp ?? '0001-01-01T00:00:00Z',
};
