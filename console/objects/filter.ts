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

const textOf = ({cells, metadata: {namespace = ''}}: Row): string => `${namespace} ${cells.join(' ')}`.toLowerCase();

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

/** Returns rows in the order of a column. */
export const sortedRows = (rows: readonly Row[], of: (row: Row) => unknown, isDown: boolean): readonly Row[] => {
  const keyed = rows.map(row => {
    const value = of(row);
    const text = String(value ?? '');
    return {row, text, size: typeof value === 'number' ? value : sizeOf(text)};
  });
  keyed.sort((one, other) =>
    one.size !== undefined && other.size !== undefined && one.size !== other.size ? one.size - other.size : compare(one.text, other.text),
  );
  if (isDown) keyed.reverse();
  return keyed.map(({row}) => row);
};
