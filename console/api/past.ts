// Lists of a moment that is past, from what the recorder keeps, with the columns that the server gives them.

import type {Moment} from '#page/base/moment.js';
import type {Resource} from './kinds.js';
import {pagesAt} from './recorder.js';
import {rowsOf, type Column, type Row, type Selection, type Table, type TableState} from './table.js';

/** Returns a table of a moment. */
export const pastTable = async (
  at: Moment,
  resource: Resource,
  {namespace = '', labels = '', fields = ''}: Selection,
  signal: AbortSignal,
): Promise<TableState> => {
  const rows: Row[] = [];
  let columns: readonly Column[] = [];
  const query = {namespace, labelSelector: labels, fieldSelector: fields, table: 'true'};
  for await (const {table} of pagesAt(at, resource, query, signal)) {
    const part = table as Table;
    columns = part.columnDefinitions ?? columns;
    rows.push(...rowsOf(part));
  }
  return {columns, rows, isComplete: true, version: 1};
};
