// The filter of a list: words are looked for in its cells; `label:` and `field:` go to the server.

import type {Row, Selection} from '#page/api/table.js';

export interface Filter {
  readonly selection: Pick<Selection, 'labels' | 'fields'>;
  readonly words: readonly string[];
}

/** The words of a filter. A selector goes on to the end of a set: `label:app in (web, db)`. */
const partsOf = (text: string): string[] => {
  const parts: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = parts.at(-1) ?? '';
    const isOpen = last.startsWith('label:') && (/ (?:not)?in$/.test(last) || last.lastIndexOf('(') > last.lastIndexOf(')'));
    const goesOn = isOpen || (last.startsWith('label:') && (word === 'in' || word === 'notin'));
    if (goesOn) parts.push(`${parts.pop()!} ${word}`);
    else if (word) parts.push(word);
  }
  return parts;
};

export const parseFilter = (text: string): Filter => {
  const parts = partsOf(text);
  const of = (prefix: string) =>
    parts
      .filter(part => part.startsWith(prefix) && part.length > prefix.length)
      .map(part => part.slice(prefix.length))
      .join(',');
  return {
    selection: {labels: of('label:'), fields: of('field:')},
    words: parts.filter(part => !part.startsWith('label:') && !part.startsWith('field:')).map(part => part.toLowerCase()),
  };
};

/** The texts of rows that have not changed are not made again. */
const texts = new WeakMap<Row, string>();

const textOf = (row: Row): string => {
  let text = texts.get(row);
  if (text === undefined) texts.set(row, (text = `${row.metadata.namespace ?? ''} ${row.cells.join(' ')}`.toLowerCase()));
  return text;
};

/** Returns the rows that have all words; those that begin with ! must be absent. */
export const filtered = (rows: readonly Row[], words: readonly string[]): readonly Row[] =>
  words.length === 0
    ? rows
    : rows.filter(row => {
        const text = textOf(row);
        return words.every(word => (word.startsWith('!') && word.length > 1 ? !text.includes(word.slice(1)) : text.includes(word)));
      });

const units: Readonly<Record<string, number>> = {s: 1, m: 60, h: 3600, d: 86_400, y: 31_536_000};

/** The size of a number, a quantity or a duration that begins with a digit; undefined for other text. */
const sizeOf = (text: string): number | undefined => {
  if (/^\d+([smhdy]\d*)+$/.test(text)) {
    let sum = 0;
    for (const [, digits, unit] of text.matchAll(/(\d+)([smhdy])/g)) sum += Number(digits) * units[unit!]!;
    return sum;
  }
  const number = Number.parseFloat(text);
  return Number.isNaN(number) ? undefined : number;
};

/** Made once: it takes longer than a thousand comparisons. */
const {compare} = new Intl.Collator('en', {numeric: true});

interface Keyed {
  readonly row: Row;
  readonly text: string;
  readonly size: number | undefined;
  /** The place before sorting, which decides between equals. */
  at: number;
}

const inOrder = (one: Keyed, other: Keyed): number => {
  if (one.size !== undefined && other.size !== undefined && one.size !== other.size) return one.size - other.size;
  return compare(one.text, other.text) || one.at - other.at;
};

/**
 * Rows in the order of a column, again and again while some of them change: what has not changed is not looked at
 * anew, and sorting begins with the order of before, which takes a comparison for each row.
 */
export class SortedRows {
  readonly #of: (row: Row) => unknown;
  readonly #keys = new WeakMap<Row, Keyed>();
  #places = new Map<string, number>();

  constructor(of: (row: Row) => unknown) {
    this.#of = of;
  }

  /** Returns rows in the order of the column. */
  sorted(rows: readonly Row[], isDown: boolean): readonly Row[] {
    const before: Keyed[] = [];
    const added: Keyed[] = [];
    for (const [at, row] of rows.entries()) {
      const keyed = this.#keyed(row);
      keyed.at = at;
      const place = this.#places.get(row.key);
      if (place === undefined) added.push(keyed);
      else before[place] = keyed;
    }
    // Where rows have gone, there are holes.
    const keyed = [...before.filter(Boolean), ...added].sort(inOrder);
    this.#places = new Map(keyed.map(({row}, place) => [row.key, place]));
    const result = keyed.map(({row}) => row);
    return isDown ? result.toReversed() : result;
  }

  #keyed(row: Row): Keyed {
    const known = this.#keys.get(row);
    if (known) return known;
    const value = this.#of(row);
    const text = String(value ?? '');
    const keyed = {row, text, size: typeof value === 'number' ? value : sizeOf(text), at: 0};
    this.#keys.set(row, keyed);
    return keyed;
  }
}
