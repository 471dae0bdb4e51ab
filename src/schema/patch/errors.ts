import {invalid, invalidObject} from '#src/api/field-error.js';
import {badRequest, plainFailure, type StatusError, statusError} from '#src/api/status.js';

// Errors of patches, with the original's codes and texts.

/** Returns the 422 of a patch that could be parsed but not applied. Its text is fixed; the cause is only logged. */
export const unprocessable = (cause: string | Error): StatusError =>
  statusError('Invalid', 'the server rejected our request due to an error in our request', {
    details: {},
    cause: cause instanceof Error ? cause : new Error(cause),
  });

/** Returns the 400 of a patch that violates its format. */
export const malformed = (message: string): StatusError => badRequest(message);

/** Returns the 500 without reason that the original sends here; clients check the text. */
export const inapplicable = (message: string): StatusError => plainFailure(message);

/** Returns the error of a patch whose result is not an object of the kind. `text` shows the result. */
export const undecodable = (text: string, detail: string): StatusError =>
  invalidObject({group: '', kind: ''}, '', [invalid('patch', text, detail)]);

/** Formats a value as the original's error texts do: `map[a:1 b:[x y]]`, with sorted keys. */
export const formatValue = (value: unknown): string => {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(formatValue).join(' ')}]`;
  if (typeof value !== 'object') return String(value as string | number | boolean);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `map[${entries.map(([key, item]) => `${key}:${formatValue(item)}`).join(' ')}]`;
};
