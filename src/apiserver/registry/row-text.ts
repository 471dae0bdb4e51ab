import {jsonText} from '#src/base/json/json.js';
import type {Ago} from '#src/api/duration.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import {createdAtColumn, nameColumn} from '#src/resources/columns.js';
import type {Column, ResourceDefinition} from '#src/resources/definition.js';
import type {RowText} from './selection-cache.js';

/** The columns of kinds that define none. */
const defaultColumns: readonly Column<KubeObject>[] = [nameColumn, createdAtColumn];

/** Returns the columns of a kind's table. */
export const columnsOf = ({presentation}: Pick<ResourceDefinition, 'presentation'>): readonly Column<KubeObject>[] =>
  presentation?.columns ?? defaultColumns;

/** The placeholder of a duration in a cell. */
const mark = '\0';
/** The placeholder in JSON, where nothing else is encoded so. */
const marked = '\\u0000';

/** Returns the start of a table row, its cells and conditions; null if a cell holds the placeholder itself. */
export const rowTextOf = (
  definition: Pick<ResourceDefinition, 'presentation'>,
  object: Readonly<KubeObject>,
  naming: Naming,
): RowText | null => {
  const times: number[] = [];
  const ago: Ago = at => {
    times.push(at);
    return mark;
  };
  const parts = jsonText(columnsOf(definition).map(column => column.of(object, ago, naming))).split(marked);
  if (parts.length - 1 !== times.length) return null;
  const conditions = definition.presentation?.rowConditions?.(object);
  if (conditions) parts[times.length] += `,"conditions":${JSON.stringify(conditions)}`;
  return {parts, times};
};

/** Returns the start of a row with the durations filled in. */
export const rowStart = ({parts, times}: RowText, ago: Ago): string => {
  let start = parts[0]!;
  for (let index = 0; index < times.length; index++) start += ago(times[index]!) + parts[index + 1]!;
  return start;
};
