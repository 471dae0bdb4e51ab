import {badRequest} from '#src/api/status.js';

/** One term of a field selector. `==` is read as `=`. */
export interface FieldRequirement {
  readonly field: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

/** A predicate over the selectable fields of a kind. */
export interface FieldSelector {
  readonly requirements: readonly FieldRequirement[];
  /** Whether it restricts nothing. */
  readonly empty: boolean;
  /** Judges by the text of each field; a field without a text counts as empty. */
  matches(fieldText: (field: string) => string | undefined): boolean;
  toString(): string;
}

const escaped = (value: string): string => value.replaceAll(/[\\,=]/g, character => `\\${character}`);

const unescaped = (text: string): string => {
  let value = '';
  const characters = [...text];
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] ?? '';
    if (character === ',' || character === '=') {
      throw badRequest(`invalid field selector: unescaped character in value: ${character.codePointAt(0)}`);
    }
    if (character !== '\\') {
      value += character;
      continue;
    }
    at += 1;
    const following = characters[at] ?? '';
    if (following !== '\\' && following !== ',' && following !== '=') {
      throw badRequest(`invalid field selector: invalid escape sequence: \\${following}`);
    }
    value += following;
  }
  return value;
};

/** Splits at commas that no backslash precedes. */
const terms = (text: string): string[] => text.match(/(?:\\[^]|[^\\,]|\\$)+/g) ?? [];

const parsedTerm = (selector: string, term: string): FieldRequirement => {
  const found = /^([^]*?)(!=|==|=)([^]*)$/.exec(term);
  if (!found) throw badRequest(`invalid selector: '${selector}'; can't understand '${term}'`);
  const [, field = '', operator, value = ''] = found;
  return {field, operator: operator === '!=' ? '!=' : '=', value: unescaped(value)};
};

/** The selector that all of the requirements make up together. */
export const fieldSelector = (requirements: readonly FieldRequirement[]): FieldSelector => ({
  requirements,
  empty: requirements.length === 0,
  matches: fieldText => requirements.every(({field, operator, value}) => ((fieldText(field) ?? '') === value) === (operator === '=')),
  toString: () => requirements.map(({field, operator, value}) => `${field}${operator}${escaped(value)}`).join(','),
});

/** Reads a selector as queries carry it. Throws a 400 for one it cannot understand; which fields exist is the caller's knowledge. */
export const parseFieldSelector = (text: string): FieldSelector =>
  fieldSelector(
    terms(text)
      .sort()
      .map(term => parsedTerm(text, term))
      .filter(({field, value}) => field !== '' || value !== ''),
  );

/** The value a selector pins a field to by `=`; undefined if it leaves it open. */
export const pinnedValue = ({requirements}: FieldSelector, field: string): string | undefined =>
  requirements.find(requirement => requirement.field === field && requirement.operator === '=')?.value;

/** The selector with each term put through `change`, which may rename the field, rewrite the value, or refuse by throwing. */
export const transformed = ({requirements}: FieldSelector, change: (field: string, value: string) => {field: string; value: string}): FieldSelector =>
  fieldSelector(
    requirements
      .map(({field, operator, value}) => ({...change(field, value), operator}))
      .filter(({field, value}) => field !== '' || value !== ''),
  );
