import {isMap, isScalar, type Node} from 'yaml';
import {documentsOf} from './parse.js';
import {valueOf} from './value.js';

/** The object of a file with one document, and where its fields are. */
export interface ObjectWithLines {
  readonly value: unknown;
  /** Returns the line of a field; undefined for one that it does not have. */
  lineOf(field: string): number | undefined;
}

/** Returns the object that a text of one document holds. Throws an error of one line for anything else. */
export const objectWithLines = (text: string): ObjectWithLines => {
  const [first, another] = documentsOf(text);
  if (another) throw new Error('it holds more than one document');
  if (!first || !isMap(first.document.contents)) throw new Error('it holds no object');
  const {document, lines} = first;
  const {value, repeated} = valueOf(document, lines);
  if (repeated[0]) throw new Error(`line ${repeated[0].line}: the field ${repeated[0].key} is repeated`);
  const starts = new Map(
    first.document.contents.items.flatMap(({key}) =>
      isScalar(key) ? [[String(key.source ?? key.value), (key as Node).range?.[0]] as const] : [],
    ),
  );
  return {
    value,
    lineOf(field) {
      const start = starts.get(field);
      return start === undefined ? undefined : lines.linePos(start).line;
    },
  };
};
