import {jsonText} from '#src/base/json/json.js';
// Documentation comments with tags, as both directions of the generation write and read them.

/** A documentation comment, without its delimiters. */
export interface Comment {
  readonly text: string;
  /** The line of its first character. */
  readonly line: number;
}

/** A tag such as `@minimum 1`. Its text may go on for several lines, up to the next tag. */
export interface Tag {
  readonly name: string;
  readonly text: string;
  /** The line of the source; 0 for one that is written. */
  readonly line: number;
}

export interface Doc {
  readonly description: string;
  readonly tags: readonly Tag[];
}

export const noDoc: Doc = {description: '', tags: []};

/** Returns a tag to write. */
export const tag = (name: string, text = ''): Tag => ({name, text, line: 0});

const linesOf = ({text, line}: Comment): readonly {readonly text: string; readonly line: number}[] => {
  const lines = text.split('\n').map((each, index) => ({text: each.replace(/^\s*\*(?: |$)/, '').trimEnd(), line: line + index}));
  return [{...lines[0]!, text: lines[0]!.text.trimStart()}, ...lines.slice(1)];
};

const tagLine = /^\s*@([A-Za-z][\w.]*)(?:\s+([^]*))?$/;

const read = (lines: readonly string[]): string =>
  lines
    .join('\n')
    .replaceAll('*\\/', '*/')
    .replaceAll(/^(\s*)\\@/gm, '$1@')
    .trim();

/** Parses a comment: its description, and its tags in order. */
export const docOf = (comment: Comment | undefined): Doc => {
  if (!comment) return noDoc;
  const description: string[] = [];
  const open: {name: string; lines: string[]; line: number}[] = [];
  for (const {text, line} of linesOf(comment)) {
    const match = tagLine.exec(text);
    if (match) open.push({name: match[1]!, lines: [match[2] ?? ''], line});
    else (open.at(-1)?.lines ?? description).push(text);
  }
  return {description: read(description), tags: open.map(({name, lines, line}) => ({name, text: read(lines), line}))};
};

const written = (text: string): string => text.replaceAll('*/', '*\\/').replaceAll(/^(\s*)@/gm, '$1\\@');

/** A text that can stand in a comment as it is. */
const isPlain = (text: string): boolean => text !== '' && text === text.trim() && !/^["\\]|[\n\r\t]|\*\/|\*\\\//.test(text);

/** Returns the text of a tag; one that cannot stand in a comment as it is becomes a JSON string. */
export const textArgument = (text: string): string => (isPlain(text) ? text : jsonArgument(text));

/** Returns a value as JSON that can stand in a comment. */
export const jsonArgument = (value: unknown): string => jsonText(value).replaceAll('*/', '*\\/');

/** Returns the text of a tag that `textArgument` wrote. Throws a `SyntaxError` for a string that does not end. */
export const argumentText = (text: string): string => (text.startsWith('"') ? (JSON.parse(text) as string) : text);

/** Returns the lines of a comment, indented; none if there is nothing to write. */
export const commentLines = ({description, tags}: Doc, indent = ''): string[] => {
  const lines = [
    ...(description ? written(description).split('\n') : []),
    ...(description && tags.length > 0 ? [''] : []),
    ...tags.map(({name, text}) => `@${name}${text ? ` ${text}` : ''}`),
  ].map(line => line.trimEnd());
  if (lines.length === 0) return [];
  if (lines.length === 1) return [`${indent}/** ${lines[0]} */`];
  return [`${indent}/**`, ...lines.map(line => `${indent} *${line ? ` ${line}` : ''}`), `${indent} */`];
};
