// A collection as the server's table of it, kept up to date by a watch.

import {Cell} from '#page/base/cell.js';
import {fieldSelector} from '#src/api/selectors/field-selector.js';
import {messageOf} from '#src/base/message.js';
import {mayPass, respond} from './call.js';
import {collectionPath, type Resource} from './kinds.js';
import {TableText} from './table-text.js';
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
  readonly namespace?: string | undefined;
  readonly uid: string;
  readonly creationTimestamp?: string | undefined;
  readonly deletionTimestamp?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly resourceVersion?: string | undefined;
}

export interface Row {
  readonly key: string;
  readonly cells: readonly unknown[];
  readonly metadata: Metadata;
}

/** A table, or a part of one. */
export interface Table {
  readonly metadata?: {readonly resourceVersion?: string; readonly continue?: string; readonly remainingItemCount?: number};
  readonly columnDefinitions?: readonly Column[];
  readonly rows?: readonly {readonly cells: readonly unknown[]; readonly object: {readonly metadata: Metadata}}[];
}

export interface TableState {
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  /** Whether all pages are there. */
  readonly isComplete: boolean;
  readonly error?: string;
  /** Why the rows do not follow the collection, or late. */
  readonly behind?: string | undefined;
  /** Counts the changes. */
  readonly version: number;
}

export interface Selection {
  readonly namespace?: string;
  readonly labels?: string;
  readonly fields?: string;
}

/** Returns the field selector of the objects that have these values. */
export const withFields = (values: Readonly<Record<string, string>>): string =>
  fieldSelector(Object.entries(values).map(([field, value]) => ({field, operator: '=', value}))).toString();

const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';

/**
 * The first page is shown at once. What is more is read anew: long pages cost the server less than many, and a list
 * without a limit least, since nobody looks first where it ends.
 */
const [firstPage, longPage] = [300, 20_000];
const retryMs = 2000;

/** Where a page ends. */
interface PageEnd {
  readonly revision: string;
  /** Where the next one begins, if there is one. */
  readonly next: string | undefined;
  /** How many objects follow, if the server says so. */
  readonly remaining: number | undefined;
}

/** How often a list is drawn while it is read. */
const drawMs = 100;

/**
 * While a watch changes it, a list of so many rows is drawn once in a millisecond at most: 10,000 four times a second.
 */
const rowsOfMs = 40;

/** Keeps what the page uses: the owners of fields are most of the metadata. */
export const rowsOf = ({rows}: Table): Row[] =>
  (rows ?? []).map(({cells, object: {metadata}}) => {
    const {name, namespace, uid, creationTimestamp, deletionTimestamp, labels, resourceVersion} = metadata;
    const kept = {name, namespace, uid, creationTimestamp, deletionTimestamp, labels, resourceVersion};
    return {key: `${namespace ?? ''}/${name}`, cells, metadata: kept};
  });

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
  #shownAt = 0;
  #isComplete = false;
  #error: string | undefined;
  #behind: string | undefined;

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
      const first = await this.#read(firstPage, '', found);
      revision = first.revision;
      if (first.next) {
        this.#draw(true);
        found.clear();
        const limit = (first.remaining ?? Infinity) < longPage ? undefined : longPage;
        for (let next: string | undefined = ''; next !== undefined;) ({revision, next} = await this.#read(limit, next, found));
      }
    } catch (error) {
      if (signal.aborted) return;
      this.#error = messageOf(error);
      this.#draw(true);
      if (mayPass(error)) setTimeout(() => signal.aborted || void this.#list(), retryMs);
      return;
    }
    for (const key of this.#rows.keys()) if (!found.has(key)) this.#rows.delete(key);
    this.#isComplete = true;
    this.#draw(true);
    this.#watch(revision);
  }

  /** Takes over the rows of a page as they arrive, and adds their keys to those that were found. */
  async #read(limit: number | undefined, from: string, found: Set<string>): Promise<PageEnd> {
    const query = new URLSearchParams({...this.#query, ...(limit ? {limit: String(limit)} : {}), ...(from ? {continue: from} : {})});
    const response = await respond(`${this.#path}?${query}`, {accept, signal: this.#closed.signal});
    const text = new TableText();
    const decoder = new TextDecoder();
    let [revision, next, drawnAt] = ['', '', performance.now()];
    let remaining: number | undefined;
    const keep = (part: Table | undefined): void => {
      if (!part) return;
      this.#columns = part.columnDefinitions ?? this.#columns;
      this.#error = undefined;
      if (part.metadata) ({resourceVersion: revision = '', continue: next = '', remainingItemCount: remaining} = part.metadata);
      for (const row of rowsOf(part)) {
        this.#rows.set(row.key, row);
        found.add(row.key);
      }
    };
    const reader = response.body!.getReader();
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      keep(text.add(decoder.decode(piece.value, {stream: true})));
      if (performance.now() - drawnAt < drawMs) continue;
      drawnAt = performance.now();
      this.#draw(false);
    }
    keep(text.end());
    return {revision, next: next || undefined, remaining};
  }

  #watch(from: string): void {
    const {signal} = this.#closed;
    watch<Table>(this.#path, this.#query, from, accept, signal, {
      event: (type, table) => {
        let revision: string | undefined;
        for (const row of rowsOf(table)) {
          revision = row.metadata.resourceVersion ?? revision;
          if (type === 'BOOKMARK') continue;
          if (type === 'DELETED') this.#rows.delete(row.key);
          else this.#rows.set(row.key, row);
        }
        if (type !== 'BOOKMARK') this.#draw(false);
        return revision;
      },
      behind: why => {
        if (why === this.#behind) return;
        this.#behind = why;
        this.#draw(true);
      },
      ended: afterMs => void setTimeout(() => signal.aborted || void this.#list(), afterMs),
    });
  }

  /** Shows what has changed: at most once in a frame, and a long list less often. */
  #draw(isUrgent: boolean): void {
    if (isUrgent) return this.#show();
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    const draw = () =>
      requestAnimationFrame(() => {
        this.#isDrawing = false;
        this.#show();
      });
    const wait = this.#shownAt + this.#rows.size / rowsOfMs - performance.now();
    if (wait > 0) setTimeout(draw, wait);
    else draw();
  }

  #show(): void {
    if (this.#closed.signal.aborted) return;
    this.#shownAt = performance.now();
    this.state.set({
      columns: this.#columns,
      rows: [...this.#rows.values()],
      isComplete: this.#isComplete,
      version: ++this.#version,
      ...(this.#error === undefined ? {} : {error: this.#error}),
      behind: this.#behind,
    });
  }
}
