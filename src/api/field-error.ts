// Errors of single fields, one constructor for each reason of a cause (`field.Error` of apimachinery). `collectErrors`
// bounds and collects them.

import {jsonText} from '#src/base/json/json.js';
import {statusError, type StatusError} from './status.js';

/** An error of one field. `detail` is the text without the path; `reason` the cause's reason on the wire. */
export interface FieldError {
  readonly path: string;
  readonly reason: string;
  readonly detail: string;
}

const escaped = (letter: string): string => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;

// oxlint-disable-next-line no-control-regex -- Matched on purpose.
const control = /([\u0000-\u0007\v\u000e-\u001f])/;
const goEscapes: Readonly<Record<string, string>> = {'\u0007': String.raw`\a`, '\v': String.raw`\v`};
const goEscaped = (letter: string): string => goEscapes[letter] ?? `\\x${letter.charCodeAt(0).toString(16).padStart(2, '0')}`;

/** Returns the text in quotes, with control characters escaped as in Go. */
const quoted = (text: string): string => {
  if (!control.test(text)) return JSON.stringify(text);
  const parts = text.split(control).map((part, index) => (index % 2 === 1 ? goEscaped(part) : JSON.stringify(part).slice(1, -1)));
  return `"${parts.join('')}"`;
};

/**
 * Returns a value as error messages show it: strings quoted, numbers and booleans bare, everything else as JSON that is
 * safe in HTML.
 */
export const printedValue = (value: unknown): string => {
  if (value === undefined || value === null) return 'null';
  if (typeof value === 'string') return quoted(value);
  const text = jsonText(value);
  return typeof value === 'object' ? text.replace(/[<>&\u2028\u2029]/g, escaped) : text;
};

const because = (text: string, detail?: string): string => (detail ? `${text}: ${detail}` : text);

/** An error: a required field has no value. */
export const required = (path: string, detail?: string): FieldError => ({
  path,
  reason: 'FieldValueRequired',
  detail: because('Required value', detail),
});
/** An error: the value of a field, which is shown, is not valid. */
export const invalid = (path: string, value: unknown, detail: string): FieldError => ({
  path,
  reason: 'FieldValueInvalid',
  detail: because(`Invalid value: ${printedValue(value)}`, detail),
});
/** Like `invalid`, with the formatted text of the value. */
export const invalidText = (path: string, text: string, detail: string): FieldError => ({
  path,
  reason: 'FieldValueInvalid',
  detail: because(`Invalid value: ${text}`, detail),
});
/** Like `invalid`, without the value. */
export const invalidUnshown = (path: string, detail: string): FieldError => ({
  path,
  reason: 'FieldValueInvalid',
  detail: because('Invalid value', detail),
});
export const typeInvalid = (path: string, value: unknown, detail: string): FieldError => ({
  path,
  reason: 'FieldValueTypeInvalid',
  detail: because(`Invalid value: ${printedValue(value)}`, detail),
});
/** An error: the value is none of the supported ones, which are shown in the order given. */
export const notSupported = (path: string, value: unknown, supported: readonly string[]): FieldError => ({
  path,
  reason: 'FieldValueNotSupported',
  detail: because(
    `Unsupported value: ${printedValue(value)}`,
    supported.length > 0 ? `supported values: ${supported.map(v => JSON.stringify(v)).join(', ')}` : '',
  ),
});
/** An error: the field must not be set, or not be changed. */
export const forbiddenField = (path: string, detail: string): FieldError => ({
  path,
  reason: 'FieldValueForbidden',
  detail: `Forbidden: ${detail}`,
});
/** An error: a value occurs twice. */
export const duplicate = (path: string, value: unknown): FieldError => ({
  path,
  reason: 'FieldValueDuplicate',
  detail: `Duplicate value: ${printedValue(value)}`,
});
/** Like `duplicate`, with the value left out. */
export const duplicateUnshown = (path: string): FieldError => ({path, reason: 'FieldValueDuplicate', detail: 'Duplicate value'});
export const notFoundValue = (path: string, value: unknown): FieldError => ({
  path,
  reason: 'FieldValueNotFound',
  detail: `Not found: ${printedValue(value)}`,
});
/** An error: a text is too long. */
export const tooLong = (path: string, bytes: number): FieldError => ({
  path,
  reason: 'FieldValueTooLong',
  detail: bytes < 0 ? 'Too long: value is too long' : `Too long: may not be more than ${bytes} ${bytes === 1 ? 'byte' : 'bytes'}`,
});
/** An error: a list has too many items. */
export const tooMany = (path: string, count: number, most: number): FieldError => ({
  path,
  reason: 'FieldValueTooMany',
  detail:
    most < 0 ? `Too many: ${count}: has too many items` : `Too many: ${count}: must have at most ${most} ${most === 1 ? 'item' : 'items'}`,
});
export const internalFieldError = (path: string, detail: string): FieldError => ({
  path,
  reason: 'InternalError',
  detail: `Internal error: ${detail}`,
});

/**
 * Returns the 422 for an object: several messages are bracketed, equal ones shown once; with a cause for each error.
 */
export const invalidObject = (of: {group: string; kind: string}, name: string, errors: readonly FieldError[]): StatusError => {
  const texts = [...new Set(errors.map(({path, detail}) => (path ? `${path}: ${detail}` : detail)))];
  const what = of.group ? `${of.kind}.${of.group}` : of.kind;
  return statusError('Invalid', `${what} ${quoted(name)} is invalid: ${texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`}`, {
    details: {
      ...(name ? {name} : {}),
      ...(of.group ? {group: of.group} : {}),
      ...(of.kind ? {kind: of.kind} : {}),
      causes: errors.map(({path, reason, detail}) => ({reason, message: detail, field: path})),
    },
  });
};
