import {invalid, invalidObject} from '#src/api/field-error.js';
import {badRequest, plainFailure, type StatusError, statusError} from '#src/api/status.js';

/** The patch could be read but not applied: 422 with the one text there is for it. The cause stays in the log. */
export const unprocessable = (cause: string | Error): StatusError =>
  statusError('Invalid', 'the server rejected our request due to an error in our request', {details: {}, cause: cause instanceof Error ? cause : new Error(cause)});

/** The patch breaks a rule of its own format: 400. */
export const malformed = (message: string): StatusError => badRequest(message);

/** The original answers these with 500 and no reason; so do we, since clients test for the text alone. */
export const inapplicable = (message: string): StatusError => plainFailure(message);

/** What came out of the patch is no object of the kind. `text` shows it. */
export const undecodable = (text: string, detail: string): StatusError => invalidObject({group: '', kind: ''}, '', [invalid('patch', text, detail)]);

/** A value as the original's error texts show it: `map[a:1 b:[x y]]`, keys in order. */
export const formatValue = (value: unknown): string => {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(formatValue).join(' ')}]`;
  if (typeof value !== 'object') return String(value as string | number | boolean);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `map[${entries.map(([key, item]) => `${key}:${formatValue(item)}`).join(' ')}]`;
};
