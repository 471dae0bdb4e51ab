// Field selectors of queries as predicates over selectable fields. Which fields a kind has is checked by the caller.

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
  /** Returns whether the fields match; an absent field counts as empty. */
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

/** Returns the selector of all requirements. */
export const fieldSelector = (requirements: readonly FieldRequirement[]): FieldSelector => ({
  requirements,
  empty: requirements.length === 0,
  matches: fieldText => requirements.every(({field, operator, value}) => ((fieldText(field) ?? '') === value) === (operator === '=')),
  toString: () => requirements.map(({field, operator, value}) => `${field}${operator}${escaped(value)}`).join(','),
});

/**
 * Reads a selector as queries carry it. Throws a 400 for a malformed one; whether the fields exist is checked by the
 * caller.
 */
export const parseFieldSelector = (text: string): FieldSelector =>
  fieldSelector(
    terms(text)
      .sort()
      .map(term => parsedTerm(text, term))
      .filter(({field, value}) => field !== '' || value !== ''),
  );

/** Returns the value a selector requires of a field by `=`; undefined if none. */
export const pinnedValue = ({requirements}: FieldSelector, field: string): string | undefined =>
  requirements.find(requirement => requirement.field === field && requirement.operator === '=')?.value;

/** Returns the selector with each term mapped by `change`, which may rename the field, change the value, or throw. */
export const transformed = (
  {requirements}: FieldSelector,
  change: (field: string, value: string) => {field: string; value: string},
): FieldSelector =>
  fieldSelector(
    requirements
      .map(({field, operator, value}) => ({...change(field, value), operator}))
      .filter(({field, value}) => field !== '' || value !== ''),
  );
