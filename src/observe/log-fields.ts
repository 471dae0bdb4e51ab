import type {LogFields} from '#src/base/log.js';
import {firstError} from '#src/base/message.js';
import type {LineFormat} from './text-format.js';

/** Names of fields whose values are redacted, at any depth. */
const secretFields: ReadonlySet<string> = new Set([
  'token',
  'password',
  'secret',
  'authorization',
  'privateKey',
  'private_key',
  'keyData',
  'idToken',
  'refreshToken',
  'stringData',
]);

const redacted = '[redacted]';

const withoutSecrets = (name: string, value: unknown): unknown => (secretFields.has(name) ? redacted : value);

/** Serialises a value that `JSON.stringify` refuses, such as a circular one. */
export type SafeStringify = (value: unknown, replacer: (name: string, value: unknown) => unknown) => string | undefined;

/** Returns a field's value in JSON, without secrets; undefined for a value without JSON. */
const jsonOf = (name: string, value: unknown, stringifySafe: SafeStringify): string | undefined => {
  if (value === undefined || typeof value === 'function' || typeof value === 'symbol') return undefined;
  if (secretFields.has(name)) return `"${redacted}"`;
  if (name === 'err') return JSON.stringify(errorText(value));
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value);
    case 'number':
      return Number.isFinite(value) ? String(value) : 'null';
    case 'object':
      return objectJson(value, stringifySafe);
    default:
      return String(value);
  }
};

const objectJson = (value: object | null, stringifySafe: SafeStringify): string | undefined => {
  try {
    return JSON.stringify(value, withoutSecrets);
  } catch {
    return stringifySafe(value, withoutSecrets);
  }
};

/** Returns the text of fields in a format. */
export const fieldsText = (fields: LogFields, format: LineFormat, stringifySafe: SafeStringify): string => {
  let text = '';
  for (const name of Object.keys(fields)) {
    const json = jsonOf(name, fields[name], stringifySafe);
    if (json !== undefined) text += format.field(name, json);
  }
  return text;
};

/** Returns an error with its causes on one line. */
const errorText = (error: unknown): string => {
  const parts: string[] = [];
  const seen = new Set<unknown>();
  for (
    let each: unknown = firstError(error);
    each !== undefined && each !== null && !seen.has(each);
    each = each instanceof Error ? firstError(each.cause) : undefined
  ) {
    seen.add(each);
    const text = each instanceof Error ? each.message || each.name : String(each);
    if (!parts.some(part => part.includes(text))) parts.push(text);
  }
  return parts.join(': ');
};
