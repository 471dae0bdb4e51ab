// The list of a kind, with the columns that the server gives it.

import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import {useCell} from '#page/base/cell.js';
import {shortDuration, useNow} from '#page/base/format.js';
import {moment} from '#page/base/moment.js';
import {useKeys} from '#page/base/keys.js';
import {amend, go, type Route} from '#page/base/route.js';
import {visible} from '#page/base/visible.js';
import {messageOf} from '#src/base/message.js';
import type {Resource} from '#page/api/kinds.js';
import {pastTable} from '#page/api/past.js';
import {LiveTable, type Column, type Row, type TableState} from '#page/api/table.js';
import {namespace} from '#page/shell/namespaces.js';
import {Grid, type GridColumn} from '#page/ui/grid.js';
import {Status} from '#page/ui/parts.js';
import {DeleteDialog} from './delete.js';
import {filtered, parseFilter, SortedRows} from './filter.js';
import {objectHref} from './hrefs.js';
import {ReadingNotices} from '#page/ui/reading-notices.js';

const nothing: TableState = {columns: [], rows: [], isComplete: false, version: 0};

/** Follows a table while it is shown. */
export const useTable = (resource: Resource | undefined, selectedNamespace: string, labels = '', fields = ''): TableState => {
  const [state, setState] = useState(nothing);
  const shown = useCell(moment);
  useEffect(() => {
    // Moving through time, what was shown stays until the next is there.
    if (shown === undefined) setState(nothing);
    if (!resource) return undefined;
    if (shown !== undefined) {
      const closed = new AbortController();
      pastTable(shown, resource, {namespace: selectedNamespace, labels, fields}, closed.signal).then(
        setState,
        (error: unknown) => closed.signal.aborted || setState({...nothing, error: messageOf(error)}),
      );
      return () => closed.abort();
    }
    const table = new LiveTable(resource, {namespace: selectedNamespace, labels, fields});
    const stop = table.state.follow(() => setState(table.state.value));
    return () => {
      stop();
      table.close();
    };
  }, [resource, selectedNamespace, labels, fields, shown]);
  return state;
};

const isStatus = ({name}: Column): boolean => ['Status', 'Phase', 'Condition'].includes(name);

/** The width of a column by what the first rows have in it. */
const widthOf = (name: string, texts: readonly string[]): number => {
  const lengths = texts.map(({length}) => length).sort((one, other) => one - other);
  const usual = lengths[Math.floor(lengths.length * 0.95)] ?? 0;
  return Math.max(Math.min(Math.max(usual, 2), 56), name.length + 1) + 3;
};

/** What a cell shows. At present ages go on while they are shown, so they are not as the server has sent them. */
const textOf = (column: Column, at: number, {cells, metadata}: Row, now: number | undefined): string => {
  if (column.name === 'Age' && metadata.creationTimestamp && now !== undefined)
    return shortDuration(now - Date.parse(metadata.creationTimestamp));
  const value = cells[at];
  return value === null || value === undefined ? '' : visible(String(value));
};

const columnsOf = (state: TableState, showsNamespace: boolean, isWide: boolean, now: number | undefined): GridColumn<Row>[] => {
  const sample = state.rows.slice(0, 300);
  const own = state.columns.flatMap((column, at): GridColumn<Row>[] => {
    if (column.priority > 0 && !isWide) return [];
    const text = (row: Row) => textOf(column, at, row, now);
    return [
      {
        name: column.name,
        title: column.description,
        width: widthOf(column.name, sample.map(text)) + (isStatus(column) ? 2 : 0),
        isNumber: column.type === 'integer' || column.type === 'number',
        cell: row => (isStatus(column) && text(row) ? <Status of={text(row)} /> : <span title={text(row)}>{text(row)}</span>),
      },
    ];
  });
  if (!showsNamespace) return own;
  const names = sample.map(({metadata}) => metadata.namespace ?? '');
  const [first, ...others] = own;
  const column: GridColumn<Row> = {name: 'Namespace', width: widthOf('Namespace', names), cell: ({metadata}) => metadata.namespace};
  return first ? [first, column, ...others] : [column];
};

/** The value by which a column sorts its rows. */
const sortValue = (columns: readonly Column[], by: string): ((row: Row) => unknown) => {
  if (by === 'Namespace' && !columns.some(({name}) => name === by)) return ({metadata}) => metadata.namespace;
  if (by === 'Age') return ({metadata}) => -Date.parse(metadata.creationTimestamp ?? '');
  const at = columns.findIndex(({name}) => name === by);
  return ({cells}) => cells[at];
};

export function List({resource, at}: {readonly resource: Resource; readonly at: Route}) {
  const chosen = useCell(namespace);
  const isPast = useCell(moment) !== undefined;
  const field = useRef<HTMLInputElement>(null);
  const {filter: text = '', sort = '', wide = ''} = at.query;
  const {selection, words} = useMemo(() => parseFilter(text), [text]);
  const state = useTable(resource, resource.isNamespaced ? chosen : '', useSettled(selection.labels), useSettled(selection.fields));
  const time = useNow(state.rows.length > 2000 ? 10_000 : 1000);
  const now = isPast ? undefined : time;
  const [deleted, setDeleted] = useState<Row>();
  const [by = '', direction] = sort.split(':');
  const order = useMemo(() => (by ? new SortedRows(sortValue(state.columns, by)) : undefined), [state.columns, by]);
  const rows = useMemo(() => {
    const kept = filtered(state.rows, words);
    return order ? order.sorted(kept, direction === 'down') : kept;
  }, [state, words, order, direction]);
  const showsNamespace = resource.isNamespaced && chosen === '';
  const columns = useMemo(
    () => columnsOf(state, showsNamespace, wide !== '', now),
    [state.columns, state.isComplete, state.rows.length > 0, showsNamespace, wide, now],
  );
  const href = ({metadata}: Row) => objectHref(resource, metadata.namespace, metadata.name);
  useKeys({
    '/': () => field.current?.focus(),
    w: () => amend({wide: wide ? '' : '1'}),
    Escape: () => text && amend({filter: ''}),
  });
  const tab =
    (id: string) =>
    ({metadata}: Row) =>
      go(objectHref(resource, metadata.namespace, metadata.name, id));
  const isPod = resource.plural === 'pods' && resource.group === '';
  return (
    <div class="list">
      <header class="bar">
        <h1>
          {resource.plural}
          {resource.group ? <small> {resource.group}</small> : null}
        </h1>
        <input
          ref={field}
          type="search"
          aria-label="Filter"
          placeholder="Filter: words, label:app=web, field:metadata.name=a   /"
          value={text}
          onInput={event => amend({filter: event.currentTarget.value})}
        />
        <span class="count" aria-live="polite">
          {rows.length === state.rows.length
            ? rows.length.toLocaleString('en')
            : `${rows.length.toLocaleString('en')} of ${state.rows.length.toLocaleString('en')}`}
          {state.isComplete || state.error ? '' : ' …'}
        </span>
        <button type="button" aria-pressed={wide !== ''} onClick={() => amend({wide: wide ? '' : '1'})} title="All columns (w)">
          Wide
        </button>
      </header>
      <ReadingNotices state={state} />
      <Grid
        label={resource.plural}
        columns={columns}
        rows={rows}
        keyOf={({key}) => key}
        hrefOf={href}
        open={row => go(href(row))}
        sorted={by ? {by, isDown: direction === 'down'} : undefined}
        sort={name => amend({sort: name === by ? (direction === 'down' ? '' : `${name}:down`) : name})}
        empty={
          state.isComplete
            ? state.rows.length
              ? 'Nothing has what the filter asks for.'
              : `There are no ${resource.plural}${chosen && resource.isNamespaced ? ` in ${chosen}` : ''}.`
            : state.error
              ? ''
              : 'Reading…'
        }
        keys={isPast ? {} : {d: setDeleted, e: tab('edit'), ...(isPod ? {l: tab('logs'), x: tab('exec')} : {})}}
        classOf={({metadata}) => (metadata.deletionTimestamp ? 'going' : '')}
      />
      {deleted ? (
        <DeleteDialog
          resource={resource}
          of={{namespace: deleted.metadata.namespace ?? '', name: deleted.metadata.name, uid: deleted.metadata.uid}}
          close={() => setDeleted(undefined)}
        />
      ) : null}
    </div>
  );
}

const settleMs = 400;

/** Returns a text once it has not changed for a moment: each is a list of the server's. */
const useSettled = (text = ''): string => {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), settleMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
};
