import {jsonText, parseJson} from '#src/base/json/json.js';
import {isRecord, recordText} from '#src/apiserver/registry/record.js';

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const fields = Object.entries(value)
    .filter(([, field]) => field !== null)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(fields.map(([name, field]) => [name, sorted(field)]));
};

/**
 * Returns the form of a stored value for the hash of a store's content. Encodings differ in the order of fields and in
 * fields that are null, which it leaves out.
 */
export const canonicalValue = (value: Buffer): Buffer => {
  if (!isRecord(value)) return value;
  return Buffer.from(jsonText(sorted(parseJson(recordText(value)))));
};
