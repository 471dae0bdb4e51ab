import {jsonText} from '#src/base/json.js';
import type {Ago} from '#src/api/duration.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import {createdAtColumn, nameColumn} from '#src/resources/columns.js';
import type {Column, ResourceDefinition} from '#src/resources/definition.js';
import type {RowText} from './selection-cache.js';

/** The columns of kinds that have none of their own. */
const defaultColumns: readonly Column<KubeObject>[] = [nameColumn, createdAtColumn];

/** The columns of a kind's table. */
export const columnsOf = ({columns = defaultColumns}: Pick<ResourceDefinition, 'columns'>): readonly Column<KubeObject>[] => columns;

/** Stands in a cell where a time does. */
const mark = '\0';
/** How JSON writes it, which writes nothing else so. */
const marked = '\\u0000';

/** How a row of a kind's table begins, with its cells and conditions, told once for all times; null where a cell holds what is taken for a time. */
export const rowTextOf = (definition: Pick<ResourceDefinition, 'columns' | 'rowConditions'>, object: Readonly<KubeObject>, naming: Naming): RowText | null => {
  const times: number[] = [];
  const ago: Ago = at => {
    times.push(at);
    return mark;
  };
  const cells = jsonText(columnsOf(definition).map(column => column.of(object, ago, naming)));
  if (cells.split(marked).length - 1 !== times.length) return null;
  const conditions = definition.rowConditions?.(object);
  return {text: conditions ? `${cells},"conditions":${JSON.stringify(conditions)}` : cells, times};
};

/** The row's beginning as it reads now. */
export const rowStart = ({text, times}: RowText, ago: Ago): string => {
  let start = '';
  let from = 0;
  for (const time of times) {
    const at = text.indexOf(marked, from);
    start += text.slice(from, at) + ago(time);
    from = at + marked.length;
  }
  return from === 0 ? text : start + text.slice(from);
};
