// The JSON of a table, read as it arrives: rows are there before the last of them is sent, and only what the page shows
// of them is kept.

import type {Table} from './table.js';

/** What follows the columns, and what each row but the first begins with: within a text, the quotes are escaped. */
const [rowsOpen, rowOpen] = ['"rows":[', ',{"cells":'];

/** The parts of a table, from its text in pieces. */
export class TableText {
  #rest = '';
  #isOpen = false;

  /** Returns what a piece completes: first the table without rows, then rows; undefined if that is nothing. */
  add(piece: string): Table | undefined {
    this.#rest += piece;
    if (!this.#isOpen) {
      const at = this.#rest.indexOf(rowsOpen);
      if (at < 0) return undefined;
      this.#isOpen = true;
      const table = JSON.parse(`${this.#rest.slice(0, at)}${rowsOpen}]}`) as Table;
      this.#rest = this.#rest.slice(at + rowsOpen.length);
      return {...table, rows: this.#whole()};
    }
    const rows = this.#whole();
    return rows.length > 0 ? {rows} : undefined;
  }

  /** Returns what is left. Throws if the text is not whole. */
  end(): Table {
    return JSON.parse(this.#isOpen ? `{${rowsOpen}${this.#rest}` : this.#rest) as Table;
  }

  /** Takes the rows that another one follows. */
  #whole(): NonNullable<Table['rows']> {
    const end = this.#rest.lastIndexOf(rowOpen);
    if (end <= 0) return [];
    const rows = JSON.parse(`[${this.#rest.slice(0, end)}]`) as NonNullable<Table['rows']>;
    this.#rest = this.#rest.slice(end + 1);
    return rows;
  }
}
