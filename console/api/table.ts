// A collection as the server's table of it, kept up to date by a watch.

import {Cell} from '#page/base/cell.js';
import {messageOf} from '#src/base/message.js';
import {ApiError, call} from './call.js';
import {collectionPath, type Resource} from './kinds.js';
import {watch} from './watch.js';

export interface Column {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly priority: number;
  readonly description?: string;
}

export interface Metadata {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly resourceVersion?: string;
}

export interface Row {
  readonly key: string;
  readonly cells: readonly unknown[];
  readonly metadata: Metadata;
}

interface Table {
  readonly metadata: {readonly resourceVersion?: string; readonly continue?: string; readonly remainingItemCount?: number};
  readonly columnDefinitions?: readonly Column[];
  readonly rows?: readonly {readonly cells: readonly unknown[]; readonly object: {readonly metadata: Metadata}}[];
}

export interface TableState {
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  /** Whether all pages are there. */
  readonly isComplete: boolean;
  readonly error?: string;
  /** Counts the changes. */
  readonly version: number;
}

export interface Selection {
  readonly namespace?: string;
  readonly labels?: string;
  readonly fields?: string;
}

const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';

/** The first page is shown at once. What is more is read anew: long pages cost the server less than many. */
const [firstPage, longPage] = ['300', '20000'];
const retryMs = 2000;

const rowsOf = ({rows = []}: Table): Row[] =>
  rows.map(({cells, object: {metadata}}) => ({key: `${metadata.namespace ?? ''}/${metadata.name}`, cells, metadata}));

/** A table that follows its collection until it is closed. */
export class LiveTable {
  readonly state = new Cell<TableState>({columns: [], rows: [], isComplete: false, version: 0});
  readonly #path: string;
  readonly #query: Readonly<Record<string, string>>;
  readonly #closed = new AbortController();
  readonly #rows = new Map<string, Row>();
  #columns: readonly Column[] = [];
  #version = 0;
  #isDrawing = false;
  #isComplete = false;
  #error: string | undefined;

  constructor(resource: Resource, {namespace = '', labels = '', fields = ''}: Selection) {
    this.#path = collectionPath(resource, namespace);
    this.#query = {...(labels ? {labelSelector: labels} : {}), ...(fields ? {fieldSelector: fields} : {})};
    void this.#list();
  }

  close(): void {
    this.#closed.abort();
  }

  async #list(): Promise<void> {
    const {signal} = this.#closed;
    const found = new Set<string>();
    let revision = '';
    try {
      let table = await this.#page(firstPage, '');
      if (table.metadata.continue) {
        this.#keep(table);
        this.#draw(true);
        for (let next: string | undefined = ''; next !== undefined; next = table.metadata.continue || undefined) {
          table = await this.#page(longPage, next);
          for (const key of this.#keep(table)) found.add(key);
          this.#draw(false);
        }
      } else for (const key of this.#keep(table)) found.add(key);
      revision = table.metadata.resourceVersion ?? '';
    } catch (error) {
      if (signal.aborted) return;
      this.#error = messageOf(error);
      this.#draw(true);
      const isForbidden = error instanceof ApiError && [400, 401, 403, 404, 405].includes(error.status);
      if (!isForbidden) setTimeout(() => signal.aborted || void this.#list(), retryMs);
      return;
    }
    for (const key of this.#rows.keys()) if (!found.has(key)) this.#rows.delete(key);
    this.#isComplete = true;
    this.#draw(true);
    this.#watch(revision);
  }

  #page(limit: string, next: string): Promise<Table> {
    const query = new URLSearchParams({...this.#query, limit, ...(next ? {continue: next} : {})});
    return call<Table>(`${this.#path}?${query}`, {accept, signal: this.#closed.signal});
  }

  /** Takes over the rows of a page, and returns their keys. */
  #keep(table: Table): string[] {
    this.#columns = table.columnDefinitions ?? this.#columns;
    this.#error = undefined;
    return rowsOf(table).map(row => {
      this.#rows.set(row.key, row);
      return row.key;
    });
  }

  #watch(from: string): void {
    const {signal} = this.#closed;
    let revision = from;
    watch<Table>(this.#path, {...this.#query, resourceVersion: revision}, accept, signal, {
      event: (type, table) => {
        for (const row of rowsOf(table)) {
          revision = row.metadata.resourceVersion ?? revision;
          if (type === 'BOOKMARK') continue;
          if (type === 'DELETED') this.#rows.delete(row.key);
          else this.#rows.set(row.key, row);
        }
        if (type !== 'BOOKMARK') this.#draw(false);
      },
      ended: isGone => {
        setTimeout(() => {
          if (signal.aborted) return;
          if (isGone) void this.#list();
          else this.#watch(revision);
        }, retryMs);
      },
    });
  }

  /** Shows what has changed, at most once in a frame. */
  #draw(isUrgent: boolean): void {
    if (isUrgent) return this.#show();
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    requestAnimationFrame(() => {
      this.#isDrawing = false;
      this.#show();
    });
  }

  #show(): void {
    if (this.#closed.signal.aborted) return;
    this.state.set({
      columns: this.#columns,
      rows: [...this.#rows.values()],
      isComplete: this.#isComplete,
      version: ++this.#version,
      ...(this.#error === undefined ? {} : {error: this.#error}),
    });
  }
}
