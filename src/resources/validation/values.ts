// Validations of single values that many kinds share, with the error texts that clients know. Each yields field errors
// and changes nothing.

import {dnsLabelProblems, dnsSubdomainProblems, labelKeyProblems, patternText, tooLongText} from '#src/api/names.js';
import {invalid, notSupported, type FieldError} from '#src/api/field-error.js';

// Validation of scalar fields that many kinds share. Each function yields errors with the original's texts.

export const negativeText = 'must be greater than or equal to 0';
export const notPositiveText = 'must be greater than zero';
export const notIntegerText = 'must be an integer';
const fileModeText = 'must be a number between 0 and 0777 (octal), both inclusive';

/** Returns `must be between A and B, inclusive`. */
export const rangeText = (least: number, most: number): string => `must be between ${least} and ${most}, inclusive`;

/** Yields one error for each problem of a value. */
export function* each(path: string, value: unknown, problems: readonly string[]): Iterable<FieldError> {
  for (const problem of problems) yield invalid(path, value, problem);
}

export const dnsLabel = (path: string, text: string): Iterable<FieldError> => each(path, text, dnsLabelProblems(text));
export const dnsSubdomain = (path: string, text: string): Iterable<FieldError> => each(path, text, dnsSubdomainProblems(text));
export const qualifiedName = (path: string, text: string): Iterable<FieldError> => each(path, text, labelKeyProblems(text));

export function* nonnegative(path: string, value: number | undefined): Iterable<FieldError> {
  if (value !== undefined && value < 0) yield invalid(path, value, negativeText);
}

/** Validates that a value is one of the known ones, which the error lists in the given order. */
export function* oneOf(path: string, value: string | undefined, known: readonly string[]): Iterable<FieldError> {
  if (!known.includes(value ?? '')) yield notSupported(path, value ?? '', known);
}

export const portProblems = (port: number): string[] => (port >= 1 && port <= 65535 ? [] : [rangeText(1, 65535)]);

/** Returns the problems of a port name (RFC 6335, lower case only). */
export const portNameProblems = (text: string): string[] => {
  const problems: string[] = [];
  if (Buffer.byteLength(text) > 15) problems.push(tooLongText(15));
  if (!/^[-a-z0-9]+$/.test(text)) problems.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  if (!/[a-z]/.test(text)) problems.push('must contain at least one letter (a-z)');
  if (text.includes('--')) problems.push('must not contain consecutive hyphens');
  if (text.startsWith('-') || text.endsWith('-')) problems.push('must not begin or end with a hyphen');
  return problems;
};

/** Validates a port given by number or by name. */
export const portNumberOrName = (path: string, port: number | string | object | undefined): Iterable<FieldError> =>
  typeof port === 'number' || port === undefined
    ? each(path, port ?? 0, portProblems(port ?? 0))
    : each(path, String(port), portNameProblems(String(port)));

const headerName = '[-A-Za-z0-9]+';
const isHeaderName = new RegExp(`^${headerName}$`);

export const headerNameProblems = (text: string): string[] =>
  isHeaderName.test(text)
    ? []
    : [patternText("a valid HTTP header must consist of alphanumeric characters or '-'", headerName, 'X-Header-Name')];

/** Returns the problems of an environment variable's name: printable ASCII without the equals sign. */
export const environmentNameProblems = (text: string): string[] => {
  if (text === '') return ['environment variable name must be non-empty'];
  return /^[ -<>-~]+$/.test(text)
    ? []
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"];
};

/** Validates a user or group id. */
export function* systemId(path: string, id: number | undefined): Iterable<FieldError> {
  if (id !== undefined && (id < 0 || id > 2147483647)) yield invalid(path, id, rangeText(0, 2147483647));
}

export function* fileMode(path: string, mode: number | undefined): Iterable<FieldError> {
  if (mode !== undefined && (mode < 0 || mode > 0o777)) yield invalid(path, mode, fileModeText);
}
